"""One of the two texts of a fix with the path that was walked in it: what of the text is on the path."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import libcst as cst

from amplint.model.events import (
    Assign,
    AutocastEnter,
    AutocastExit,
    Backward,
    Clip,
    Escape,
    Event,
    Forward,
    GradAccess,
    Report,
)
from amplint.model.protocol.hazard import HazardKind
from amplint.model.references import reference
from amplint.rule import File
from amplint.runtime.changes import function_at
from amplint.runtime.replay.path_walk import Walk
from amplint.runtime.training.path_facts import namesakes, used

ASKING = frozenset({"get_scale", "is_enabled"})
"""Methods of a scaler that only tell."""
_SILENT = (Assign, AutocastEnter, AutocastExit, Escape, Forward)
"""Events that are not all that their place does: what computes a value, or is run in a region, does more."""


@dataclass(frozen=True)
class Side:
    """One of the texts, and the path in it; `aside` are its neighbours through branches that are changed and not on it."""

    walk: Walk
    file: File
    aside: tuple[Walk, ...] = ()

    @property
    def events(self) -> list[Event]:
        """What happens on the path, and on its neighbours."""
        return [event for walk in (self.walk, *self.aside) for event in walk.events]

    @cached_property
    def called(self) -> frozenset[tuple[int, str]]:
        """The calls that are events on the path: row, and text without layout."""
        return self._places(each for each in self.events if not isinstance(each, (*_SILENT, Report)))

    @cached_property
    def touching(self) -> frozenset[tuple[int, str]]:
        """Those that show gradients, or change them: of what else they are given no event tells."""
        return self._places(each for each in self.events if isinstance(each, GradAccess))

    def _places(self, events: Iterable[Event]) -> frozenset[tuple[int, str]]:
        program = self.file.analysis.program
        nodes = {id(node): node for each in events if each.site >= 0 for node in [program.places[each.site]]}
        spans = [(program.tree.range(each).start.row, program.tree.text(each)) for each in nodes.values()]
        return frozenset((row, _plain(text)) for row, text in spans)

    @cached_property
    def shown(self) -> frozenset[int]:
        """The rows in which a loss is shown."""
        program = self.file.analysis.program
        sites = {event.site for event in self.walk.events if isinstance(event, Report)}
        return frozenset(program.tree.range(program.places[site]).start.row for site in sites)

    def events_in(self, statement: ast.stmt) -> list[Event]:
        """The events on the path whose place begins in the rows of a statement."""
        rows = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        return [event for event in self.events if event.site >= 0 and self.row(event) in rows]

    def acts_in(self, statement: ast.stmt, kind: HazardKind) -> bool:
        """Whether more happens on the path in the rows of a statement than that something is computed or shown.

        Args:
            statement: the statement.
            kind: that of the defect; gradients count as something to show, unless it is about that.
        """
        shows = (Forward, Report) if kind is HazardKind.GRAD_READ_BEFORE_UNSCALE else (Forward, Report, GradAccess)
        events = self.events_in(statement)
        acts = any(not isinstance(event, shows) or getattr(event, "writes", False) for event in events)
        return acts or _changes_gradients(statement)

    def knows_owners_in(self, statement: ast.stmt | None) -> bool:
        """Whether it is known of all clips in a statement to which optimizers the gradients belong."""
        clips = [each for each in self.events_in(statement) if isinstance(each, Clip)] if statement is not None else []
        owned = {owner for facts in self.walk.entry.objects.values() for owner in facts.owners}
        optimizers = used(self.walk.events) - {""}
        return all(owned & set(each.owners) or namesakes(each.owners, optimizers) for each in clips)

    def goes_round(self, loop: ast.For) -> bool:
        """Whether the path goes round a loop over objects that it knows."""
        inside = range(loop.body[0].lineno, (loop.end_lineno or loop.lineno) + 1)
        names = isinstance(loop.iter, (ast.Name, ast.Attribute)) and isinstance(loop.target, ast.Name)
        return names and any(row in inside for row, _ in self.called)

    def row(self, event: Event) -> int:
        """Where the place of an event on the path begins, which is in the text."""
        program = self.file.analysis.program
        return program.tree.range(program.places[event.site]).start.row

    @property
    def row_of_backward(self) -> int:
        """Where the first backward pass of the path stands; 0 where there is none."""
        found = (each for each in self.walk.events if isinstance(each, Backward) and each.site >= 0)
        return next(map(self.row, found), 0)

    @cached_property
    def functions(self) -> frozenset[str]:
        """The functions that the path leads through."""
        program, text = self.file.analysis.program, self.file.source.text
        rows = {program.tree.range(program.places[each.site]).start.row for each in self.walk.events if each.site >= 0}
        return frozenset(function_at(text, row) for row in rows)

    @cached_property
    def scalers(self) -> frozenset[str]:
        """What the code calls the scalers on the path."""
        found = (getattr(event, "scaler", "") for event in self.events)
        return frozenset(reference(each).written for each in found if each)

    def is_event(self, call: ast.Call) -> bool:
        """Whether a call is an event on the path, or only asks a scaler, or for an attribute (`trainer.get_optimizer()`)."""
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        return name in ASKING or not {(call.lineno, ast.unparse(call))}.isdisjoint(self.called | self._getters)

    @cached_property
    def _getters(self) -> frozenset[tuple[int, str]]:
        """The calls that do nothing but give back an attribute: row, and text without layout."""
        program = self.file.analysis.program
        found = [each for each in program.tree.find(cst.Call) if program.getters.behind(each) is not None]
        return frozenset((program.tree.range(each).start.row, _plain(program.tree.text(each))) for each in found)


def _plain(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text, mode="eval"))
    except SyntaxError:  # a statement, or a decorator
        return text


def _changes_gradients(statement: ast.stmt) -> bool:
    """Whether gradients are handed to a function that changes its operands."""
    calls = [each for each in ast.walk(statement) if isinstance(each, ast.Call)]
    changing = [each for each in calls if ast.unparse(each.func).endswith("_")]
    return any(isinstance(each, ast.Attribute) and each.attr == "grad" for call in changing for each in call.args)


def with_neighbours(sides: tuple[Side, Side], pair: tuple[Walk, Walk]) -> tuple[Side, Side]:
    """Both texts, each with one more path beside its own.

    Args:
        sides: the text as it stands, and that with the fix.
        pair: a path in each of them.
    """
    before, after = (replace(side, aside=(*side.aside, walk)) for side, walk in zip(sides, pair))
    return before, after
