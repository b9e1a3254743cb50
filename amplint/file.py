"""One file under inspection, and all that rules may ask about it; each answer is worked out when it is asked for."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from amplint import gate
from amplint.assigned import Assigned
from amplint.diagnostics import ALONE, Footing, Partly, Range
from amplint.editor import Editor
from amplint.importer import Importer
from amplint.lowering import constants
from amplint.lowering.analysis import Analysis
from amplint.lowering.checkpoints import Checkpoints
from amplint.lowering.classes import Classes
from amplint.lowering.contexts import Contexts
from amplint.lowering.custom_functions import CustomFunctions
from amplint.lowering.dtypes import Dtypes
from amplint.lowering.finiteness import Finiteness
from amplint.lowering.forwards import Forwards
from amplint.lowering.half_checkpoints import HalfCheckpoints
from amplint.lowering.halves import Halves
from amplint.lowering.hand_scaling import HandScaling
from amplint.lowering.imports import Imports
from amplint.lowering.modules import Modules
from amplint.lowering.names import Names
from amplint.lowering.precisions import Precisions
from amplint.lowering.processes import Processes
from amplint.lowering.recursion import Recursion
from amplint.lowering.scalers import Scalers
from amplint.lowering.skips import SkipTests
from amplint.lowering.summaries import Program
from amplint.lowering.tree import Tree
from amplint.lowering.trials import Trials
from amplint.model import torch_api
from amplint.source import Source

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
        makers = torch_api.AUTOCAST | torch_api.GRAD_SCALER
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
        return constants.integer(node, self.names, self.classes)

    def range(self, node: cst.CSTNode) -> Range:
        """Where a node stands."""
        return self.tree.range(node)

    def path(self, node: cst.CSTNode) -> str:
        """The file in which a node stands, as in `Related.path`: empty for this one."""
        home = self.tree.home(node)
        return "" if home is self.tree else home.source.path
