"""One file under inspection, and all that rules may ask about it; each answer is worked out when it is asked for."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from amplint.diagnostics import ALONE, Footing, Partly, Range
from amplint.dtypes import Dtypes
from amplint.edits.imports import Importer
from amplint.edits.statements import Editor
from amplint.facts.autograd_functions import CustomFunctions
from amplint.facts.forward_passes import Forwards
from amplint.facts.half_checkpoints import HalfCheckpoints
from amplint.facts.half_models import Halves
from amplint.facts.manual_loss_scaling import HandScaling
from amplint.facts.recursive_calls import Recursion
from amplint.facts.resume_checkpoints import Checkpoints
from amplint.facts.scaler_precision import Precisions
from amplint.facts.scalers import Scalers
from amplint.facts.skip_tests import SkipTests
from amplint.facts.spawned_processes import Processes
from amplint.facts.trial_code import Trials
from amplint.facts.unguarded_bf16 import Finiteness
from amplint.hazards.analysis import Analysis
from amplint.lowering.program import Program
from amplint.model.torch import names as torch_names
from amplint.python_ast import gate
from amplint.python_ast.definite_assignment import Assigned
from amplint.roles.autocast_contexts import Contexts
from amplint.source import Source
from amplint.syntax import integers
from amplint.syntax.classes import Classes
from amplint.syntax.names import Names
from amplint.syntax.project_files import Modules
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree

MIXED_PRECISION = "mixed-precision"
"""The fact that some file of the run trains in half precision."""


class File:
    """One file under inspection."""

    def __init__(self, tree: Tree, torch: tuple[int, int]) -> None:
        self.tree = tree
        self.torch = torch
        """The oldest PyTorch (major, minor) that the linted project supports (`target torch`)."""

    @property
    def source(self) -> Source:
        """The whole text."""
        return self.tree.source

    @cached_property
    def names(self) -> Names:
        """What names mean."""
        return Names(self.tree)

    @cached_property
    def importer(self) -> Importer:
        """How a fix gets at a name that the file may not import yet."""
        return Importer(self.tree, self.names)

    @cached_property
    def classes(self) -> Classes:
        """The classes it defines."""
        return Classes(self.tree, self.names, self.imports)

    @cached_property
    def imports(self) -> Imports:
        """What it imports from the other files of its project."""
        return Imports(self.tree, self.names, self._modules)

    @cached_property
    def _modules(self) -> Modules | None:
        return Modules(self.source.place) if self.source.place is not None else None

    @property
    def footing(self) -> Footing:
        """What all that was said about it rests on besides its own text."""
        return self._modules.footing() if self._modules is not None else Footing()

    @cached_property
    def contexts(self) -> Contexts:
        """What its context managers enter."""
        return Contexts(self.tree, self.names, self.classes, self.imports)

    @cached_property
    def dtypes(self) -> Dtypes:
        """Which of its values are computed in half."""
        return Dtypes(self.tree, self.names, self.contexts, self.classes)

    @cached_property
    def analysis(self) -> Analysis:
        """Its hazards: where the protocol of AMP is broken on some feasible path."""
        return Analysis(Program(self.tree, self.names, self.classes, self.contexts, self.imports))

    @property
    def partly(self) -> tuple[Partly, ...]:
        """The functions of which the rules that have run could not see all paths."""
        return self.analysis.partly if "analysis" in self.__dict__ else ()

    @cached_property
    def scalers(self) -> Scalers:
        """The scalers that it makes."""
        return Scalers(self.analysis)

    @cached_property
    def precisions(self) -> Precisions:
        """The precisions of its regions, as its scalers meet them."""
        return Precisions(self.analysis, self.scalers)

    @cached_property
    def checkpoints(self) -> Checkpoints:
        """What it saves to resume from."""
        return Checkpoints(self.analysis)

    @cached_property
    def processes(self) -> Processes:
        """The processes that it starts."""
        return Processes(self.analysis.program)

    @cached_property
    def half_checkpoints(self) -> HalfCheckpoints:
        """What it saves in half to resume from."""
        return HalfCheckpoints(self.analysis.program)

    @cached_property
    def finiteness(self) -> Finiteness:
        """What it asks about inf and NaN."""
        return Finiteness(self.analysis)

    @cached_property
    def hand_scaling(self) -> HandScaling:
        """The losses that it scales by hand."""
        return HandScaling(self.analysis.program, self.contexts)

    @cached_property
    def skip_tests(self) -> SkipTests:
        """Where it asks whether a step was skipped."""
        return SkipTests(self.analysis.program)

    @cached_property
    def forwards(self) -> Forwards:
        """Its forward passes."""
        return Forwards(self.analysis.program)

    @cached_property
    def custom_functions(self) -> CustomFunctions:
        """Its subclasses of `autograd.Function`."""
        return CustomFunctions(self.tree, self.names, self.classes, self.contexts)

    @cached_property
    def halves(self) -> Halves:
        """The models that it makes half."""
        return Halves(self.analysis.program)

    @cached_property
    def trials(self) -> Trials:
        """What in it only tries something out."""
        return Trials(self.tree, self.names)

    @cached_property
    def recursion(self) -> Recursion:
        """Which of its functions may run inside themselves."""
        return Recursion(self.analysis.program)

    @cached_property
    def facts(self) -> frozenset[str]:
        """What this file establishes for the whole run."""
        makers = torch_names.AUTOCAST | torch_names.GRAD_SCALER
        if any(self.names.any_in(call.func, makers) for call in self.tree.find(cst.Call)):
            return frozenset({MIXED_PRECISION})
        # Whoever propagates a loss of its own without AMP trains what stands beside it in full precision.
        text = self.source.text.encode()
        return frozenset({ALONE}) if b".backward(" in text and not gate.may_matter(text) else frozenset()

    @cached_property
    def editor(self) -> Editor:
        """How a fix edits whole statements."""
        return Editor(self.tree)

    @cached_property
    def _assigned(self) -> Assigned:
        return Assigned(self.importer.module)

    def is_bound(self, name: str, at: cst.CSTNode) -> bool:
        """Whether a name is bound on every path to the statement of `at`, or the author uses it there as if it were."""
        return self._assigned.is_bound(name, self.range(at).start.row)

    def integer(self, node: cst.BaseExpression) -> cst.Integer | None:
        """The literal that an expression stands for: itself, or that of a constant that is assigned once."""
        return integers.integer(node, self.names, self.classes)

    def range(self, node: cst.CSTNode) -> Range:
        """Where a node stands."""
        return self.tree.range(node)

    def path(self, node: cst.CSTNode) -> str:
        """The file in which a node stands, as in `Related.path`: empty for this one."""
        home = self.tree.home(node)
        return "" if home is self.tree else home.source.path
