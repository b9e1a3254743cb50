"""One file under inspection, and all that rules may ask about it; each answer is worked out when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import libcst as cst

from amplint.diagnostics import (
    ALONE,
    FLOAT16_TRAINING,
    MIXED_PRECISION,
    TRAINING,
    UNSCALES,
    Footing,
    Partly,
    Range,
    Related,
)
from amplint.edits.imports import Importer
from amplint.edits.statements import Editor
from amplint.hazards.analysis import Analysis
from amplint.hazards.unscaling import Unscaling
from amplint.lowering.program import Program
from amplint.model.caller_contexts import CallerContext, ResultElsewhere
from amplint.model.libraries import told_in
from amplint.model.rule_options import Option, Value
from amplint.model.torch import names as torch_names
from amplint.model.torch.precision import EITHER_HALF, FLOAT16
from amplint.python_ast import gate
from amplint.python_ast.definite_assignment import Assigned
from amplint.roles.autocast_contexts import Contexts
from amplint.roles.call_targets import Callees
from amplint.roles.roles import Roles
from amplint.source import Source
from amplint.syntax import integers
from amplint.syntax.classes import Classes
from amplint.syntax.names import Names
from amplint.syntax.project_files import Modules
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree
from amplint.syntax.value_flow import ValueFlow

_READS_OPTIONS = re.compile(rb"^\w+(, *\w+)* *= *[^\n#]*\.parse_(known_)?args\(", re.MULTILINE)
"""A module that reads the command line as soon as it is loaded is a program."""
Fact = TypeVar("Fact")


class File:
    """One file under inspection.

    Args:
        tree: its syntax tree.
        torch: the oldest PyTorch (major, minor) that the linted project supports (`target torch`).
        supposing: whether libraries are taken to drive its classes in float16, although nothing in it makes them do so.
    """

    def __init__(self, tree: Tree, torch: tuple[int, int], supposing: bool = False) -> None:
        self.tree = tree
        self.torch = torch
        self._supposing = supposing
        self._facts: dict[object, Any] = {}

    def close(self) -> None:
        """Let go of everything: its parts know each other, so that only the collector of garbage would free them, slowly."""
        for fact in self._facts.values():
            if hasattr(fact, "close"):
                fact.close()
        parts = [*self._facts.values(), *vars(self).values()]
        if "program" in vars(self):
            parts += vars(self.program).values()
        for part in (*parts, self):
            if hasattr(part, "__dict__"):
                vars(part).clear()

    def fact(self, kind: Callable[[File], Fact]) -> Fact:
        """What one kind of fact says about this file: `file.fact(Scalers).made`. It is made once.

        Args:
            kind: a class whose instances are made of a file, such as those of `amplint.facts`, or a function of a file.
        """
        if kind not in self._facts:
            self._facts[kind] = kind(self)
        found: Fact = self._facts[kind]
        return found

    def option(self, option: Option[Value]) -> Value:
        """What the project chooses for an option of a rule."""
        chosen: Value = self._options.get((option.code, option.name), option.default)
        return chosen

    @cached_property
    def _options(self) -> dict[tuple[str, str], Any]:
        return dict(self.source.place.options) if self.source.place is not None else {}

    @property
    def entered(self) -> tuple[CallerContext, ...]:
        """How code of other files enters its functions."""
        told = self.source.place.entered if self.source.place is not None else ()
        return tuple(each for each in told if isinstance(each, CallerContext))

    @property
    def results(self) -> tuple[ResultElsewhere, ...]:
        """What functions of other files give back to it."""
        told = self.source.place.entered if self.source.place is not None else ()
        return tuple(each for each in told if isinstance(each, ResultElsewhere))

    @property
    def source(self) -> Source:
        """The whole text."""
        return self.tree.source

    @cached_property
    def names(self) -> Names:
        """What names mean."""
        return Names(self.tree, lambda qualified: self.imports.originals(qualified))

    @cached_property
    def importer(self) -> Importer:
        """How a fix gets at a name that the file may not import yet."""
        return Importer(self.tree, self.names)

    @cached_property
    def classes(self) -> Classes:
        """The classes it defines."""
        return Classes(self.tree, self.names, self.imports, self._supposing)

    @property
    def may_be_driven(self) -> bool:
        """Whether a library would do more around some of its classes if it were told to."""
        return bool(told_in(self.source.text.encode())) and bool(self.classes.undriven)

    @cached_property
    def imports(self) -> Imports:
        """What it imports from the other files of its project."""
        return Imports(self.tree, self.names, self._modules)

    @cached_property
    def _modules(self) -> Modules | None:
        return Modules(self.source.place, self.source.text) if self.source.place is not None else None

    @property
    def footing(self) -> Footing:
        """What all that was said about it rests on besides its own text."""
        return self._modules.footing() if self._modules is not None else Footing()

    @cached_property
    def contexts(self) -> Contexts:
        """What its context managers enter."""
        return Contexts(self.tree, self.names, self.classes, self.imports)

    @cached_property
    def program(self) -> Program:
        """Its functions, and those of other files that they call, as graphs of events; for facts, not for rules."""
        return Program(self.tree, self.names, self.classes, self.contexts, self.imports)

    @property
    def roles(self) -> Roles:
        """Which of its values are scalers, optimizers and schedulers, and what is known of each."""
        return self.program.roles

    @property
    def flow(self) -> ValueFlow:
        """Where its values come from, and where they go."""
        return self.program.flow

    @property
    def callees(self) -> Callees:
        """Which functions its calls run."""
        return self.program.callees

    @cached_property
    def analysis(self) -> Analysis:
        """Its hazards: where the protocol of AMP is broken on some feasible path."""
        return Analysis(self.program)

    @property
    def partly(self) -> tuple[Partly, ...]:
        """The functions of which the rules that have run could not see all paths."""
        return self.analysis.partly if "analysis" in self.__dict__ else ()

    @cached_property
    def says(self) -> frozenset[str]:
        """What this file establishes for the whole run."""
        unscales = "unscale" in self.source.text and Unscaling(self.program).for_others
        return self._precisions | (frozenset({UNSCALES}) if unscales else frozenset())

    @property
    def _precisions(self) -> frozenset[str]:
        """What it establishes of what is computed in half precision."""
        text = self.source.text.encode()
        if self.mixed_precision is not None:
            trains = b".backward(" in text or any(self.names.references(torch_names.GRAD_SCALER))
            in_float16 = {FLOAT16_TRAINING} if self.float16_training is not None else set[str]()
            return frozenset({MIXED_PRECISION, *({TRAINING} if trains else ()), *in_float16})
        # Whoever propagates a loss of its own without AMP, or is a program with options, runs what stands beside it in full
        # precision.
        program = (b"ArgumentParser(" in text and b"__main__" in text) or _READS_OPTIONS.search(text) is not None
        own = b".backward(" in text or program
        return frozenset({ALONE}) if own and not gate.may_matter(text) else frozenset()

    @cached_property
    def mixed_precision(self) -> cst.CSTNode | None:
        """Where the file first enters a region or makes a scaler, or hands on what does; None if it uses no mixed precision."""
        makers = torch_names.AUTOCAST | torch_names.GRAD_SCALER
        call = next((call for call in self.tree.find(cst.Call) if self.names.any_in(call.func, makers)), None)
        return call or next((node for node in self.names.references(makers) if self._is_handed_on(node)), None)

    @cached_property
    def float16_training(self) -> cst.WithItem | None:
        """Where a region that may compute in float16 is entered, if the file propagates losses."""
        if not gate.propagates(self.source.text.encode()):
            return None
        entered = ((item, self.contexts.of(item.item)) for item in self.tree.find(cst.WithItem))
        return next(
            (
                item
                for item, region in entered
                if region is not None and region.lowers and region.dtype in (FLOAT16, EITHER_HALF)
            ),
            None,
        )

    def _is_handed_on(self, node: cst.CSTNode) -> bool:
        """Whether a class is bound to another name, by which it will be called, or preset by `functools.partial`."""
        parent = self.tree.parent(node)
        call = self.tree.parent(parent) if isinstance(parent, cst.Arg) else None
        if isinstance(call, cst.Call):
            return self.names.all_in(call.func, {"functools.partial"})
        return isinstance(parent, (cst.Assign, cst.AnnAssign, cst.IfExp)) and getattr(parent, "test", None) is not node

    @cached_property
    def editor(self) -> Editor:
        """How a fix edits whole statements."""
        return Editor(self.tree)

    @cached_property
    def _assigned(self) -> Assigned:
        return Assigned(self.importer.module)

    def is_bound(self, name: str, at: cst.CSTNode) -> bool:
        """Whether a name is bound on every path to the statement of `at`, or the author uses it there as if it were.

        Args:
            name: a name of the author's that a fix wants to use.
            at: where the fix wants to use it.
        """
        return self._assigned.is_bound(name, self.range(at).start.row)

    def integer(self, node: cst.BaseExpression) -> cst.Integer | None:
        """The literal that an expression stands for: itself, or that of a constant that is assigned once."""
        return integers.integer(node, self.names, self.classes)

    def range(self, node: cst.CSTNode) -> Range:
        """Where a node stands."""
        return self.tree.range(node)

    def related(self, message: str, *nodes: cst.CSTNode | None) -> tuple[Related, ...]:
        """The second locations of a finding.

        Args:
            message: what happens at each of them.
            *nodes: where it happens; None for nowhere.
        """
        return tuple(Related(message, self.range(node), self.path(node)) for node in nodes if node is not None)

    def path(self, node: cst.CSTNode) -> str:
        """The file in which a node stands, as in `Related.path`: empty for this one."""
        home = self.tree.home(node)
        return "" if home is self.tree else home.source.path
