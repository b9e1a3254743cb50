"""Which changes between two texts a walk along a path follows: of the others its evidence does not speak.

Followed are the calls that are events on the path, with the objects and limits that they are given, jumps, and conditions, of
which other answers are tried; what asks a scaler for its scale; and the scalers that are made, which are compared by their
settings. A walk knows no values but losses: what else computes is not followed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from amplint.model.events import Backward, Escape, OptimizerStep, Scale
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import File
from amplint.runtime.changes import Change, changes, changes_in
from amplint.runtime.replay.changed_parts import (
    are_parts_of_one,
    asked_object,
    has_parameters_taken,
    innermost_calls,
    is_unread_argument,
    shape_of_test,
    without_known,
)
from amplint.runtime.replay.moved_statements import moved_across_regions
from amplint.runtime.replay.walked_side import ASKING, Side
from amplint.runtime.statement_parts import conjuncts, has_part
from amplint.runtime.training.path_facts import feeding
from amplint.runtime.training.run_record import NotReplayable

_ABOUT_REGIONS = frozenset(
    {HazardKind.BACKWARD_IN_AUTOCAST, HazardKind.REGION_SPANS_STEPS, HazardKind.FP16_WITHOUT_SCALER}
)
"""Defects that are about what a region is, or what runs in it."""
_COMPUTING = (ast.BinOp, ast.UnaryOp)
_INERT = (ast.Import, ast.ImportFrom, ast.Pass, ast.Continue, ast.Break)


def changes_of(before: Side, after: Side, own: File | None, kind: HazardKind, is_patch: bool) -> list[Change]:
    """What differs between two texts; for a defect that is about regions, what leaves one is told by the walks alone.

    Args:
        before: the text as it stands.
        after: the text with the fix.
        own: the text with the fix of the rule; None where that is what is judged, or nobody knows it.
        kind: that of the defect.
        is_patch: whether somebody else's patch is judged, of which no more counts than what it does to the functions on the path.
    """
    texts = before.file.source.text, after.file.source.text
    found = changes(*texts, kind in _ABOUT_REGIONS)
    if kind in _ABOUT_REGIONS:
        found += moved_across_regions(before, after, own)
    return changes_in(found, *texts, before.functions | after.functions) if is_patch else found


def not_followed(found: Sequence[Change], before: Side, after: Side, kind: HazardKind) -> list[Change]:
    """The changes that the walks do not follow.

    Args:
        found: what differs between the texts.
        before: the text as it stands.
        after: the text with the fix.
        kind: that of the defect.
    """
    mine, theirs = before.walk.decisions.asked, after.walk.decisions.asked
    is_tried = bool(mine.keys() - theirs.keys()) or any(len(theirs[key]) > 2 for key in theirs.keys() - mine.keys())
    is_tried = is_tried or bool(
        after.walk.decisions.evaluated or after.walk.decisions.told - before.walk.decisions.told
    )
    gone = tuple(one.before.test for one in found if isinstance(one.before, ast.If) and one.after is None)
    following = _Following(kind, is_tried, _asking_names(found), _computed(before.file), gone)
    return [one for one in found if not following.follows(one, before, after)]


def refuse_several_losses(found: Sequence[Change], after: Side) -> None:
    """Refuse changes that go round a loop over several losses, of which a walk knows but one.

    Args:
        found: the changes.
        after: the text with the fix.

    Raises:
        NotReplayable: there is such a loop.
    """
    loops = [one.after for one in found if isinstance(one.after, ast.For)]
    written = (each for each in loops if isinstance(each.iter, (ast.Tuple, ast.List)))
    if any(isinstance(event, Backward) for each in written for event in after.events_in(each)):
        raise NotReplayable("with the fix, a loop goes over several losses")


def on_path(found: Sequence[Change], before: Side, after: Side, kind: HazardKind) -> list[Change]:
    """Those changes in whose statements something happens on the path: the work of others also logs, renames and adds.

    Args:
        found: the changes.
        before: the text as it stands.
        after: the text with the repair.
        kind: that of the defect.
    """
    sides = [(one, ((one.before, before), (one.after, after))) for one in found]
    return [one for one, pairs in sides if any(side.acts_in(statement, kind) for statement, side in pairs if statement)]


def computes_losses(found: Sequence[Change], after: Side) -> bool:
    """Whether changes that are not followed may give losses or gradients other values.

    Args:
        found: those changes.
        after: the text with the fix.
    """
    events = (event for one in found if one.after is not None for event in after.events_in(one.after))
    feeds = feeding(after.walk.events)
    return any(isinstance(each, (Backward, Escape, Scale)) or getattr(each, "target", "") in feeds for each in events)


def _asking_names(found: Sequence[Change]) -> frozenset[str]:
    """The names that changed statements give to what a scaler tells."""
    statements = (one.after for one in found if isinstance(one.after, ast.Assign) and _asks(one.after.value))
    return frozenset(target.id for one in statements for target in one.targets if isinstance(target, ast.Name))


def _computed(file: File) -> frozenset[str]:
    """The operations in a text."""
    return frozenset(ast.dump(each) for each in ast.walk(ast.parse(file.source.text)) if isinstance(each, _COMPUTING))


@dataclass(frozen=True)
class _Following:
    kind: HazardKind
    is_tried: bool
    """Whether conditions that differ are evaluated, or other answers to them tried."""
    scales: frozenset[str]
    computed: frozenset[str]
    """What is computed in the text as it stands."""
    gone: tuple[ast.expr, ...]
    """The conditions that the fix takes out."""

    def follows(self, change: Change, before: Side, after: Side) -> bool:
        if change.is_move:
            return self._follows_whole(change.before, before) and self._follows_whole(change.after, after)
        if isinstance(change.before, ast.If) and isinstance(change.after, ast.If):
            if ast.dump(change.before.test) == ast.dump(change.after.test):  # its body is compared apart
                return self._follows_whole(change.before, before) and self._follows_whole(change.after, after)
            return self._follows_test(change.before.test, change.after.test)
        old, new = change.old, change.new
        if are_parts_of_one(old, new) and has_parameters_taken(new, change.after):
            return False  # the nets of a walk have no parts of their own
        if old is not None and has_parameters_taken(new, change.after) and not after.knows_owners_in(change.after):
            return False
        if _touches_otherwise(change, before, after) or (old is None and _trains_again(change.after, after)):
            return False
        if old is not None and new is not None:  # of what is put around the other only that is new
            if has_part(new, old):
                return self._follows(new, old, change.after, after)
            if has_part(old, new):
                return self._follows(old, new, change.before, before)
        return self._follows(old, None, change.before, before) and self._follows(new, None, change.after, after)

    def _follows(self, node: ast.AST | None, known: ast.AST | None, statement: ast.stmt | None, side: Side) -> bool:
        """Whether a changed part of a statement, but for what was known of it, is followed."""
        if node is None or statement is None or isinstance(statement, _INERT):
            return True
        if isinstance(statement, ast.If):
            if any(_compare_the_same(each, statement.test) for each in self.gone):
                return False
            return self.is_tried or self._is_about_scale(statement.test) or asked_object(statement.test) in side.scalers
        if isinstance(statement, (ast.With, ast.AsyncWith)) or node in getattr(statement, "decorator_list", ()):
            return self.kind in _ABOUT_REGIONS
        if self.kind is HazardKind.SCALED_LOSS_REPORTED and statement.lineno in side.shown:
            return {ast.dump(each) for each in ast.walk(node) if isinstance(each, _COMPUTING)} <= self.computed
        if isinstance(statement, ast.Return):
            return statement.value is None
        if isinstance(statement, ast.For):
            return side.goes_round(statement)
        if isinstance(statement, ast.Assign) and self._is_about_scale(statement.value):
            return True
        if not isinstance(statement, (ast.Expr, ast.Assign)):
            return False
        if is_unread_argument(node, statement):
            return False
        if isinstance(statement, ast.Assign) and node in statement.targets:
            node = statement.value  # what is called otherwise is told by what it holds
        parts = [*without_known(node, known)]
        calls = [each for each in parts if isinstance(each, ast.Call)] or innermost_calls(node, statement)
        computes = any(isinstance(each, (ast.BinOp, ast.UnaryOp, ast.Lambda)) for each in parts)
        return bool(calls) and not computes and all(side.is_event(each) or _is_plain(each) for each in calls)

    def _follows_whole(self, statement: ast.stmt | None, side: Side) -> bool:
        """Whether something happens on the path in a statement that is only in another place."""
        if statement is None or isinstance(statement, _INERT):
            return True
        rows = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        return any(row in rows for row, _ in side.called) and not isinstance(statement, ast.FunctionDef)

    def _follows_test(self, old: ast.expr, new: ast.expr) -> bool:
        """Whether a condition has become another one in a way that the walk knows of."""
        if isinstance(new, ast.Constant) or (
            shape_of_test(old) == shape_of_test(new) and not self._is_about_scale(old)
        ):
            return False  # it holds at other times
        mine, theirs = ({ast.dump(one): one for one in conjuncts(each)} for each in (old, new))
        gone, put = (
            [each[key] for key in each.keys() - other.keys()] for each, other in ((mine, theirs), (theirs, mine))
        )
        if all(map(self._is_about_scale, [*gone, *put])):
            return True
        return self.is_tried and not any(_compare_the_same(*pair) for pair in product(gone, put))

    def _is_about_scale(self, node: ast.expr) -> bool:
        if any(isinstance(each, ast.Constant) for each in ast.walk(node)):
            return False  # a place on the scale says nothing of a step
        return _asks(node) or any(isinstance(each, ast.Name) and each.id in self.scales for each in ast.walk(node))


def _compare_the_same(old: ast.expr, new: ast.expr) -> bool:
    """Whether two comparisons that differ are about the same names: no other answer to the one tells it from the other."""
    if not (isinstance(old, ast.Compare) and isinstance(new, ast.Compare)) or ast.dump(old) == ast.dump(new):
        return False
    named = (ast.Name, ast.Attribute)
    mine, theirs = ({ast.unparse(each) for each in ast.walk(one) if isinstance(each, named)} for one in (old, new))
    return mine == theirs


def _asks(node: ast.AST) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr in ASKING for each in ast.walk(node))


def _touches_otherwise(change: Change, before: Side, after: Side) -> bool:
    """Whether a call that shows gradients, or changes them, is given something else (how much is added to them, say), or the
    same is asked of something else."""
    if change.before is None or change.after is None:
        return False
    old, new = ({ast.unparse(each): each for each in _calls(one)} for one in (change.before, change.after))
    mine = {text: call for text, call in old.items() if (call.lineno, text) in before.touching}
    theirs = {text for text, call in new.items() if (call.lineno, text) in after.touching}
    if theirs:
        return bool(mine.keys() - theirs and theirs - mine.keys())
    asked = {_method(call) for text, call in new.items() if text not in old}
    return any(_method(call) in asked for call in mine.values())


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    return (each for each in ast.walk(statement) if isinstance(each, ast.Call))


def _method(call: ast.Call) -> str:
    """The last name of the function that is called."""
    return ast.unparse(call.func).rpartition(".")[2]


def _trains_again(statement: ast.stmt | None, side: Side) -> bool:
    """Whether a statement has an optimizer run a closure: a walk cannot tell two of them from two iterations."""
    if statement is None or not any(isinstance(each, OptimizerStep) for each in side.events_in(statement)):
        return False
    return any(
        each.args and isinstance(each.func, ast.Attribute) and each.func.attr == "step" for each in _calls(statement)
    )


def _is_plain(call: ast.Call) -> bool:
    """Whether a call only makes a scaler, whose settings are compared, or says which parameters are meant."""
    return _method(call) in ("GradScaler", "parameters")
