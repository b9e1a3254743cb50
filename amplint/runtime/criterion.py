"""The one criterion of all verdicts: five questions, asked of what was observed before a repair, after it, and in a reference.

1. Gone: does what shows the defect come out right with the repair, wherever it did not without it?
2. Meant: where the program was right, is it still, and is everything else that the author meant computed as well?
3. Nothing new: is there no hazard, and no error, that was not there before?
4. Nothing lost: is mixed precision still in force where it was, and does training still train?
5. Nothing else: did nothing change of which the evidence does not speak?

Whoever runs something (a path, an expression, a template, the author's own code) says of each thing that was looked at
whether it was right before the repair and after it: an `Observation`. What that comes to is decided here, and nowhere else.
Imports no torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from amplint.runtime.verdict import CONFIRMED, NOT_OBSERVABLE, NOT_REPLAYABLE, PARTLY, REFUTED, Outcome

_SHOWN = 3
"""How many things a reason names; of the others it gives the number."""


class Question(Enum):
    """What an observation answers; the value says what is wrong, where it is not right with the repair."""

    GONE = "is not what it should be"
    MEANT = "is not what is meant"
    NEW = "was not there before"
    LOST = "is lost"


@dataclass(frozen=True)
class Observation:
    """One thing at one point (an iteration, a magnitude, a step), looked at before a repair and after it.

    Attributes:
        question: what it answers.
        what: the thing, in words: "parameters of `optimizer`", "autocast in float16", "RuntimeError: ...".
        before: whether it is right with the code as it stands. A hazard, or an error, that is there is not right.
        after: whether it is right with the repair.
        at: the point, in words: "iteration 3"; empty where there is but one.
        same: of a thing that is wrong both times, whether it is wrong in the same way.
    """

    question: Question
    what: str
    before: bool
    after: bool
    at: str = ""
    same: bool = True

    @property
    def is_spoiled(self) -> bool:
        """Whether it was right, and is not any more."""
        return self.before and not self.after

    @property
    def is_left(self) -> bool:
        """Whether it was wrong, and still is."""
        return not (self.before or self.after)


def judge(
    observations: Sequence[Observation], shown: Outcome, others: Sequence[str] = (), beyond: Sequence[str] = ()
) -> Outcome:
    """The verdict on a repair.

    Args:
        observations: the answers to the first four questions. Without one that answers the first, a repair can only be refuted.
        shown: what is shown of them (measure, figures, series, basis, what was assumed); its verdict is replaced.
        others: the kinds of other defects that are there before and after: what is wrong may be theirs.
        beyond: the changed statements of which the evidence does not speak (`amplint.runtime.changes`).
    """
    by_question = {each: [one for one in observations if one.question is each] for each in Question}
    defect = by_question[Question.GONE]
    spoiled = {question: [one for one in each if one.is_spoiled] for question, each in by_question.items()}
    new, lost = spoiled[Question.NEW], spoiled[Question.LOST]
    left = [one for one in defect if one.is_left]
    astray = [one for one in by_question[Question.MEANT] if one.is_left]
    wrong = spoiled[Question.GONE] + spoiled[Question.MEANT]
    wrong += [one for one in left + astray if defect and not one.same]
    mended = [one for one in defect if one.after and not one.before]
    remains: tuple[str, ...] = ()
    if lost or (new and not others):
        verdict, reason = REFUTED, _reason(lost or new)
    elif others and (new or wrong or left or astray):
        verdict, reason = NOT_REPLAYABLE, f"another defect remains on the path: {', '.join(others)}"
        shown = replace(shown, others=tuple(others))
    elif wrong or (left and not mended):
        verdict, reason = REFUTED, _reason(wrong or left)
    elif not defect:
        verdict, reason = NOT_REPLAYABLE, shown.reason or "nothing was observed from which to judge"
    elif astray:
        verdict, reason = (
            NOT_REPLAYABLE,
            f"another defect remains: {remaining(astray)[0]} is not what is meant either way",
        )
    elif beyond:
        verdict, reason = NOT_REPLAYABLE, f"the change does more than is replayed: {_listed(beyond)}"
    elif left:
        verdict, reason, remains = PARTLY, "a part of the defect is as it was", remaining(left)
    elif not mended:
        verdict, reason = NOT_OBSERVABLE, "the defect makes no difference to what is measured"
    else:
        verdict, reason = CONFIRMED, ""
    return replace(shown, verdict=verdict, reason=reason, remains=remains)


def unmeasured(observed: Sequence[Observation], shown: Outcome) -> Outcome:
    """The verdict where what shows the defect is not found again: what is spoiled is so all the same.

    Args:
        observed: what was observed besides.
        shown: what is shown, with the reason why nothing was measured.
    """
    return judge([one for one in observed if one.question is not Question.GONE], shown)


def remaining(left: Sequence[Observation]) -> tuple[str, ...]:
    """What is left of a defect, in words: each thing with its points, or with their number where they are many."""
    points: dict[str, list[str]] = {}
    for one in left:
        points.setdefault(one.what, []).append(one.at)
    return tuple(_with_points(what, [at for at in each if at]) for what, each in points.items())


def _with_points(what: str, points: Sequence[str]) -> str:
    if not points:
        return what
    return f"{what} at {len(points)} points" if len(points) > _SHOWN else f"{what} ({', '.join(points)})"


def _reason(wrong: Sequence[Observation]) -> str:
    """What is wrong with a repair: the first thing, and how many others."""
    first = wrong[0]
    alike = [one for one in wrong if one.question is first.question and one.what == first.what]
    said = f"with the fix, {remaining(alike)[0]} {first.question.value}"
    more = len(Counter(one.what for one in wrong)) - 1
    return f"{said}, nor are {more} other things right" if more else said


def _listed(texts: Sequence[str]) -> str:
    named = ", ".join(f"`{text}`" for text in texts[:_SHOWN])
    return f"{named} and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else named
