"""The verdict on a repair of the author's function, run: before, after, and in exact arithmetic."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from amplint.diagnostics import Diagnostic
from amplint.model import observables
from amplint.model.torch.precision import UNKNOWN
from amplint.rule import File
from amplint.runtime.changes import Change, changes, changes_in
from amplint.runtime.criterion import Observation, Question, judge
from amplint.runtime.execution.running import AuthorFile, FunctionRun, PointRun, run_apart
from amplint.runtime.execution.target import RunTarget, target_of
from amplint.runtime.execution.tree_copies import TooLarge, copied
from amplint.runtime.numeric.answer import Evaluation
from amplint.runtime.numeric.facts import DtypeTrace
from amplint.runtime.numeric.operand_kinds import FREE, GIVEN, SETTING
from amplint.runtime.training.run_record import NotReplayable
from amplint.runtime.verdict import EXECUTION, NOT_REPLAYABLE, Outcome
from amplint.source import SOURCE_FOLDERS, Source
from amplint.syntax.tree import Tree

_WORST = "worst relative error"
_RIGHT = 0.05
"""The largest relative error of values and gradients with which a program counts as right."""
_EVERYDAY = 2.0**-5, 3.0
"""The magnitudes at which every function is expected to be right, whatever the precision."""
_SAME = 2.0**-5
"""By how much two functions may differ in exact arithmetic and mean the same, where epsilons may be in reach."""
_COARSER = 8.0, 2.0**-4
"""By how much more than before a function may be off under AMP, and up to what error it may be so in any case."""
_ROUNDING = 2.0**-12
"""Half of the largest relative error of one rounding to float16."""
_ASSUMED = {GIVEN: "holds numbers from 0 to 1", SETTING: "is 0.5"}


class _Pair(NamedTuple):
    """A point before the repair and after it."""

    before: PointRun
    after: PointRun

    @property
    def at(self) -> str:
        """Which point it is, in words."""
        return f"{self.before.swept or 'all'} = {self.before.at:g}"

    def errors(self) -> tuple[float, float]:
        """How far value and gradients are from exact arithmetic on the text as it stands."""
        exact, dtypes = self.before.exact, self.before.dtypes
        return _off(self.before.amp, exact, dtypes), _off(self.after.amp, exact, dtypes)


def execute(
    before: Source,
    after: Source,
    diagnostic: Diagnostic,
    measure: str,
    device: str,
    seed: int,
    patched: bool,
    copies: Path,
) -> Outcome:
    """Run the author's function around a finding, as it stands and with the fix, over a sweep of operands.

    Args:
        before: the text as it stands.
        after: the text with the fix.
        diagnostic: the finding.
        measure: `NON_FINITE` or `VALUE_ERROR`.
        device: one of `amplint.runtime.devices`.
        seed: of weights and operands.
        patched: whether the second text has more changes than this fix: then those count that are in the function.
        copies: where copies of projects lie (`amplint.runtime.execution.tree_copies`).
    """
    try:
        target = target_of(DtypeTrace(File(Tree(before), torch=(2, 3))), diagnostic)
        first = run_apart(_file(before, copies), target, device, seed)
        second = run_apart(_file(after, copies), target, device, seed, first.settled)
    except NotReplayable as problem:
        return Outcome(NOT_REPLAYABLE, str(problem), measure)
    if len(first.points) != len(second.points):
        return Outcome(NOT_REPLAYABLE, f"running `{target.name}` came to different points", measure)
    elsewhere = _raised_elsewhere(first, diagnostic)
    if elsewhere:
        return Outcome(NOT_REPLAYABLE, f"`{target.name}` raises for another reason ({elsewhere})", measure)
    told = [pair for pair in map(_Pair, first.points, second.points) if _counts(pair)]
    changed = changes(before.text, after.text)
    mine = changes_in(changed, before.text, after.text, {target.name}) if patched else changed
    beyond = [each.text for each in mine if not _has_run(each, first, second)]
    shown = _shown(told, target, first, measure)
    return judge([*_defect(told, measure), *_meant(told), *_kept_in_half(first, second)], shown, beyond=beyond)


def _file(source: Source, copies: Path) -> AuthorFile:
    """A file as the copy of its project has it."""
    if source.place is None:
        raise NotReplayable("where the file lies is not known")
    path = source.place.path
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    root = source.place.root if source.place.root in (folder, *folder.parents) else folder
    try:
        copy = copied(root, copies)
    except TooLarge:
        raise NotReplayable("the project has too many files to be copied") from None
    except OSError as error:
        raise NotReplayable(f"the project cannot be copied ({error.strerror})") from error
    parts = [re.sub(r"\W", "_", part) for part in path.relative_to(folder).with_suffix("").parts]
    package = parts[:-1] if parts[-1] == "__init__" else parts
    above = [each for each in (folder, *folder.parents) if each == root or root in each.parents]
    places = [path.parent, *above] if len(package) == 1 else above
    paths = dict.fromkeys(inner for place in places for inner in (place, *(place / name for name in SOURCE_FOLDERS)))
    there = (os.fspath(copy / each.relative_to(root)) for each in paths)
    return AuthorFile(os.fspath(copy / path.relative_to(root)), ".".join(package or parts), tuple(there), source.text)


# -- what is observed --------------------------------------------------------------------------------------------------


def _counts(pair: _Pair) -> bool:
    """Whether exact arithmetic gives what the dtypes can hold, and float32 without AMP can compute the repaired function."""
    exact = pair.before.exact
    fits = exact.finite and bool(exact.value.float().isfinite().all())
    held = all(bool(each.to(dtype).isfinite().all()) for each, dtype in zip(exact.gradients, pair.before.dtypes))
    return fits and held and (pair.after.plain.finite or bool(pair.after.plain.error))


def _raised_elsewhere(found: FunctionRun, diagnostic: Diagnostic) -> str:
    """An error that the function raises as it stands, in other rows than those of the finding."""
    rows = range(diagnostic.range.start.row, diagnostic.range.end.row + 1)
    return next((each.amp.error for each in found.points if each.amp.error and each.row not in rows), "")


def _defect(told: Sequence[_Pair], measure: str) -> Iterator[Observation]:
    """Whether value and gradients are finite, or the value exact; and what is raised."""
    for pair in told:
        one, other = pair.before.amp, pair.after.amp
        yield Observation(Question.GONE, "the value or gradient", one.finite, other.finite, pair.at)
        if other.error:
            yield Observation(Question.NEW, other.error, not one.error, False, pair.at)
    if measure == observables.VALUE_ERROR and told:
        was, is_ = (max(_off(each[place].amp, each.before.exact, ()) for each in told) for place in (0, 1))
        if was > _ROUNDING:
            yield Observation(Question.GONE, "the value", False, was >= 8 * is_)


def _meant(told: Sequence[_Pair]) -> Iterator[Observation]:
    """Whether the repaired function is right where the one that stands is, or, where that is nowhere, at everyday magnitudes.

    Its meaning is told in exact arithmetic, its precision under AMP.
    """
    right = {id(pair) for pair in told if pair.errors()[0] <= _RIGHT}
    for pair in told:
        if id(pair) in right or (not right and _EVERYDAY[0] <= abs(pair.before.at) <= _EVERYDAY[1]):
            was, is_ = pair.errors()
            is_same = _off(pair.after.exact, pair.before.exact, pair.before.dtypes) <= _SAME
            is_right = is_same and (was > _RIGHT or is_ <= max(was * _COARSER[0], _COARSER[1]))
            yield Observation(Question.MEANT, "the value or gradient", True, is_right, pair.at)


def _kept_in_half(first: FunctionRun, second: FunctionRun) -> Iterator[Observation]:
    """Whether the products that autocast had computed in half still are."""
    if first.lowered:
        yield Observation(Question.LOST, "the half precision of products", True, second.lowered >= first.lowered)


def _off(mine: Evaluation, exact: Evaluation, dtypes: Sequence[torch.dtype]) -> float:
    alike = mine.value.shape == exact.value.shape and len(mine.gradients) == len(exact.gradients)
    return mine.distance(exact, dtypes) if mine.finite and alike else float("inf")


def _has_run(change: Change, first: FunctionRun, second: FunctionRun) -> bool:
    """Whether what has changed was run; imports were."""
    statement, ran = (change.after, second.rows) if change.after is not None else (change.before, first.rows)
    if statement is None or isinstance(statement, (ast.Import, ast.ImportFrom)):
        return True
    return not ran.isdisjoint(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))


def _shown(told: Sequence[_Pair], target: RunTarget, found: FunctionRun, measure: str) -> Outcome:
    wrong = [sum(not each[place].amp.finite for each in told) for place in (0, 1)]
    errors = [
        max((off for each in told if (off := each.errors()[place]) < float("inf")), default=0.0) for place in (0, 1)
    ]
    before, after = ({observables.NON_FINITE: count, _WORST: worst} for count, worst in zip(wrong, errors))
    kinds = found.settled.kinds
    assumed = [f"`{name}` {_ASSUMED[kind]}" for name, kind in kinds.items() if kind in _ASSUMED]
    assumed += [
        f"`{one.text}` is float32" for one in target.parameters if one.dtype == UNKNOWN and kinds[one.text] == FREE
    ]
    return Outcome(
        NOT_REPLAYABLE,
        "exact arithmetic is not finite at any point either",
        measure,
        before,
        after,
        {observables.NON_FINITE: 0, "run": target.name, "points": len(told), "shape": str(found.settled.layout)},
        basis=EXECUTION,
        assumed=(*assumed, *found.assumed),
    )
