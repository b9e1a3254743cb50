"""The paths beside the one that shows a defect: with other answers to conditions, and the one that training usually takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from amplint.model import vocabulary
from amplint.model.events import OptimizerStep
from amplint.runtime.replay.branch_choices import Answer, Decisions
from amplint.runtime.replay.defect_paths import steps_on, walked
from amplint.runtime.replay.event_world import Idle
from amplint.runtime.replay.path_walk import Walk

_REFERENCE = re.compile("‹([^›]*)›")
"""What the key of a condition is about."""


def ordinary(first: Walk, second: Walk) -> tuple[Walk, Walk] | None:
    """The path that training usually takes, where the one that shows a defect is another, and this one shows none.

    Args:
        first: the path that shows the defect, in the code as it stands.
        second: the same path in the code with the fix.
    """
    if not first.decisions.chosen:
        return None
    usual = walked(Walk(first.entry, Decisions(), Idle(), first.prelude))
    if usual is None or usual.hazards or not steps_on(usual):
        return None
    other = alongside(second, usual)
    return None if other is None else (usual, other)


def left_to_scalers(first: Walk, second: Walk) -> set[str]:
    """The conditions about numbers that are not finite that only the code as it stands asks, where scalers step with the fix.

    These leave out such a step by themselves.

    Args:
        first: the path in the code as it stands.
        second: the same path in the code with the fix.
    """
    if any(isinstance(event, OptimizerStep) for event in second.events):
        return set()
    dropped = first.decisions.asked.keys() - second.decisions.asked.keys()
    return {key for key in dropped if vocabulary.FINITE.search(key)}


def variants(first: Walk, second: Walk) -> Iterator[tuple[Walk, Walk]]:
    """The paths with other answers to conditions that only one text asks: such a one may have been put in, out, or changed.

    What is asked with the fix only, and may change from one iteration to the next, has to come out right either way; what is
    asked without it only has a meaning that has to stay. Paths that come to no end are left out.

    Args:
        first: the path in the code as it stands.
        second: the same path in the code with the fix.
    """
    mine, theirs = first.decisions.asked, second.decisions.asked
    scalers = left_to_scalers(first, second)
    rewritten = {references for key in theirs.keys() - mine.keys() if (references := _compared(key))}
    for key, options in theirs.items():
        for answer in options[1:] if key not in mine and len(options) > 2 else ():
            other = _with(second, key, answer)
            if other is not None:
                yield first, other
    for key, options in mine.items():
        if _compared(key) in rewritten:
            continue  # the fix asks it in other words, to which its other answer would be another one as well
        for answer in (options[:1] if key in scalers else options) if key not in theirs else ():
            other = _with(first, key, answer) if answer != first.decisions.chosen.get(key, options[0]) else None
            if other is not None:
                yield other, second


def _compared(key: str) -> frozenset[str]:
    """What a condition compares by size; nothing for other conditions."""
    return frozenset(_REFERENCE.findall(key)) if key.startswith("Comparison(") else frozenset()


def branches(first: Walk, second: Walk) -> Iterator[tuple[Walk, Walk]]:
    """The paths with another answer to one of the conditions that both texts ask; those that come to no end are left out.

    Args:
        first: the path in the code as it stands.
        second: the same path in the code with the fix.
    """
    for key, options in first.decisions.asked.items():
        for answer in options if key in second.decisions.asked else ():
            if answer != first.decisions.chosen.get(key, options[0]):
                pair = _with(first, key, answer), _with(second, key, answer)
                if pair[0] is not None and pair[1] is not None:
                    yield pair[0], pair[1]


def put_behind(first: Walk, second: Walk, text: str) -> Iterator[Walk]:
    """The paths with the other answer to a condition behind which nothing happened with the code as it stands, which had it.

    Args:
        first: the path in the code as it stands.
        second: the same path in the code with the fix.
        text: the code as it stands.
    """
    tests = [node.test for node in ast.walk(ast.parse(text)) if isinstance(node, ast.If)]
    names = [{ast.unparse(part) for part in ast.walk(test) if isinstance(part, ast.expr)} for test in tests]
    for key, options in second.decisions.asked.items():
        asked = set(_REFERENCE.findall(key))
        is_old = bool(asked) and any(asked <= each for each in names)
        if is_old and key not in first.decisions.asked and len(options) == 2:
            other = _with(second, key, options[1])
            if other is not None:
                yield other


def alongside(walk: Walk, path: Walk) -> Walk | None:
    """A path with the answers of another text's path; None where it comes to no end.

    Args:
        walk: a path through the function.
        path: a path through the same function in the other text.
    """
    return walked(Walk(walk.entry, path.decisions.again(), Idle(), walk.prelude))


def _with(walk: Walk, key: str, answer: Answer) -> Walk | None:
    """A path with another answer to one condition."""
    return walked(Walk(walk.entry, walk.decisions.but(key, answer), Idle(), walk.prelude))
