"""What a rule is, and what it may ask about a file.

A rule module holds a docstring (the rule's page), and one function decorated with `rule`:

    @rule("AMP101", "clip-before-unscale", fix=Applicability.SAFE, triggers=("clip_grad",))
    def check(file: File) -> Iterator[Finding]:
        ...

Rules hold no state; everything about a file is asked from `File`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from amplint.diagnostics import Applicability, Diagnostic, Fix, Footing, Range, Related
from amplint.editor import Editor, Statement
from amplint.importer import Importer
from amplint.lowering import constants
from amplint.lowering.analysis import Analysis, Found
from amplint.lowering.checkpoints import Checkpoints, Incomplete
from amplint.lowering.classes import Classes
from amplint.lowering.contexts import Contexts
from amplint.lowering.custom_functions import CustomFunction, CustomFunctions
from amplint.lowering.dtypes import Constant, Danger, Dtypes, Hazard, Operation, Tensor, Use
from amplint.lowering.finiteness import Finiteness
from amplint.lowering.forwards import Forwards, Pass
from amplint.lowering.half_checkpoints import HalfCheckpoints, HalfSaved
from amplint.lowering.halves import Halved, Halves
from amplint.lowering.hand_scaling import HandScaled, HandScaling
from amplint.lowering.imports import Imports
from amplint.lowering.modules import Modules
from amplint.lowering.names import Names
from amplint.lowering.precisions import Precisions
from amplint.lowering.processes import HandOver, Processes
from amplint.lowering.recursion import Recursion
from amplint.lowering.scalers import Rebuilt, Scalers
from amplint.lowering.skips import SkipTest, SkipTests
from amplint.lowering.summaries import Program
from amplint.lowering.tree import Tree
from amplint.model import torch_api
from amplint.model.observable import Observable
from amplint.source import Source

__all__ = [
    "Check",
    "Constant",
    "CustomFunction",
    "Danger",
    "File",
    "Finding",
    "Found",
    "HalfSaved",
    "Halved",
    "HandOver",
    "HandScaled",
    "Hazard",
    "Incomplete",
    "MIXED_PRECISION",
    "Operation",
    "Pass",
    "Rebuilt",
    "Rule",
    "SkipTest",
    "Statement",
    "Tensor",
    "Use",
    "rule",
]

MIXED_PRECISION = "mixed-precision"
"""The fact that some file of the run trains in half precision."""


@dataclass(frozen=True)
class Finding:
    """What a rule found; the engine adds code, name and path."""

    range: Range
    message: str
    note: str = ""
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    needs: frozenset[str] = frozenset()


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
    def recursion(self) -> Recursion:
        """Which of its functions may run inside themselves."""
        return Recursion(self.analysis.program)

    @cached_property
    def facts(self) -> frozenset[str]:
        """What this file establishes for the whole run."""
        makers = torch_api.AUTOCAST | torch_api.GRAD_SCALER
        uses = any(self.names.any_in(call.func, makers) for call in self.tree.find(cst.Call))
        return frozenset({MIXED_PRECISION}) if uses else frozenset()

    @cached_property
    def editor(self) -> Editor:
        """How a fix edits whole statements."""
        return Editor(self.tree)

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


Check = Callable[[File], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """A rule: its metadata and its check.

    `fix` is the best applicability its fixes reach (None: it never has one). `triggers` are regular expressions on
    identifiers, or on running text where they hold a `\\(`: only files, and top-level statements, in which one is found are
    parsed for the sake of this rule; the words of AMP itself (`amplint.gate.AMP_WORDS`) always count. `observable` is what a
    replay measures to prove a fix; without one, fixes are not replayed.
    """

    code: str
    name: str
    check: Check = field(compare=False, repr=False)
    fix: Applicability | None = None
    default: bool = True
    triggers: tuple[str, ...] = ()
    page: str = field(default="", compare=False, repr=False)
    module: str = ""
    observable: Observable | None = None

    @property
    def summary(self) -> str:
        """The first line of the rule's page."""
        return self.page.partition("\n")[0].rstrip(".")

    def run(self, file: File) -> Iterator[Diagnostic]:
        """The rule's findings in a file, as diagnostics."""
        for found in self.check(file):
            # A wrapper that comes with amplint is no code that anyone would want to see.
            related = tuple(other for other in found.related if not other.path.endswith(".pyi"))
            yield Diagnostic(
                self.code, self.name, found.message, found.range, found.note, related, found.fix, found.needs,
                file.source.path,
            )  # fmt: skip


def rule(
    code: str,
    name: str,
    *,
    fix: Applicability | None = None,
    default: bool = True,
    triggers: tuple[str, ...] = (),
    observable: Observable | None = None,
) -> Callable[[Check], Rule]:
    """Make a check a rule; the docstring of its module becomes its page."""

    def wrap(check: Check) -> Rule:
        page = inspect.cleandoc(sys.modules[check.__module__].__doc__ or "")
        return Rule(code, name, check, fix, default, triggers, page, check.__module__, observable)

    return wrap
