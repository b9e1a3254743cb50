"""The regions and scalers of a file with all their settings, by what the arguments mean: whether a repair keeps them.

Held against each other are the file with a repair and the file with amplint's own fix, which keeps what the author wrote.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping

from amplint.model.torch import precision
from amplint.rule import File
from amplint.runtime.criterion import Observation, Question
from amplint.runtime.experiments.amp_objects import DEVICE, ENABLED, AmpObject, Text, is_bare, made_in

_PAIRS = ((ast.Eq, ast.NotEq), (ast.Lt, ast.GtE), (ast.Gt, ast.LtE), (ast.In, ast.NotIn), (ast.Is, ast.IsNot))
_OPPOSITE: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    one: other for pair in _PAIRS for one, other in (pair, pair[::-1])
}
"""What a comparison asks that is true where it is not."""
_NEVER_GROWS = 10**6
"""So many steps without an overflow there are not."""


def misplaced_dtypes(file: File) -> set[str]:
    """The dtypes that regions of a file are given in the place of the flag that switches them on."""
    halves = precision.FLOAT16, precision.BFLOAT16
    found = {made.by_name[ENABLED] for made, _ in made_in(file) if made.kind == "region"}
    return {str(each) for each in found if each in halves}


def kept_settings(own: File, after: File, is_about_settings: bool, may_switch_off: bool) -> Iterator[Observation]:
    """Whether a repair leaves the settings of regions and scalers as amplint's own fix does.

    Args:
        own: the file with amplint's own fix.
        after: the file with the repair.
        is_about_settings: whether every setting is to be what it is there; else only what switches AMP off is looked at.
        may_switch_off: whether a scaler may be switched off.
    """
    for one, other in _pairs(own, after):
        yield from _compared(one, other, is_about_settings, may_switch_off)


def lost_regions(own: File, after: File) -> Iterator[Observation]:
    """The regions that amplint's own fix leaves, and a repair takes away.

    Args:
        own: the file with amplint's own fix.
        after: the file with the repair.
    """
    missing, extra = ([one for one in each if one.kind == "region"] for each in unlike(own, after))
    for one in missing[len(extra) :]:
        if one.by_name[ENABLED] is not False:
            yield Observation(Question.LOST, "a region", True, False)


def other_halves(own: File, after: File) -> list[str]:
    """The regions to which a repair gives the other half precision than amplint's own fix does, in words.

    Args:
        own: the file with amplint's own fix.
        after: the file with the repair.
    """
    dtypes = [[each.by_name.get("dtype") for each in pair] for pair in _pairs(own, after)]
    halves = precision.FLOAT16, precision.BFLOAT16
    return [f"{one} -> {other}" for one, other in dtypes if one != other and one in halves and other in halves]


def other_flags(own: File, after: File) -> list[str]:
    """The flags that only a run can tell, by which a repair switches something on that another one does in amplint's own fix.

    Args:
        own: the file with amplint's own fix.
        after: the file with the repair.
    """
    flags = [[each.by_name[ENABLED] for each in pair] for pair in _pairs(own, after)]
    told = ((one, other) for one, other in flags if isinstance(one, Text) and isinstance(other, Text) and one != other)
    return [f"enabled={one.code} -> enabled={other.code}" for one, other in told]


def _pairs(own: File, after: File) -> Iterator[tuple[AmpObject, AmpObject]]:
    """What a repair makes in another way than amplint's own fix, side by side."""
    missing, extra = unlike(own, after)
    for one in missing:
        counterpart = min((other for other in extra if other.kind == one.kind), key=one.distance, default=None)
        if counterpart is not None:
            extra.remove(counterpart)
            yield one, counterpart


def unlike(own: File, after: File) -> tuple[list[AmpObject], list[AmpObject]]:
    """The regions and scalers of one file that another has not, and those that it has instead; those that are dropped aside.

    Args:
        own: the file with amplint's own fix.
        after: the file with the repair.
    """
    mine, theirs = (Counter(made for made, call in made_in(file) if not is_bare(file, call)) for file in (own, after))
    return list((mine - theirs).elements()), list((theirs - mine).elements())


def are_alike(own: File, after: File) -> bool:
    """Whether two files make the same regions and scalers, but for devices that only a run can tell.

    Args:
        own: the file with amplint's own fix.
        after: the file with the repair.
    """
    missing, extra = unlike(own, after)
    return len(missing) == len(extra) == len([*_pairs(own, after)]) and all(
        _is_for_device_of_run(*each) for each in _pairs(own, after)
    )


def _is_for_device_of_run(one: AmpObject, other: AmpObject) -> bool:
    mine, theirs = one.by_name, other.by_name
    differing = {name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)}
    device = theirs[DEVICE]
    is_told = isinstance(device, Text) and device.code.endswith(".type") and not isinstance(mine[DEVICE], Text)
    return is_told and (
        differing == {DEVICE} or (differing == {DEVICE, "dtype"} and None in (mine["dtype"], theirs["dtype"]))
    )


def _compared(one: AmpObject, other: AmpObject, is_about_settings: bool, may_switch_off: bool) -> Iterator[Observation]:
    mine, theirs = one.by_name, other.by_name
    for name in dict.fromkeys((*mine, *theirs)):
        value, instead = mine.get(name), theirs.get(name)
        if value == instead or (
            name == "dtype" and None in (value, instead)
        ):  # none: of a device that only the run tells
            continue
        if name == ENABLED and instead is False and _is_kept(one.kind, may_switch_off):
            yield Observation(Question.LOST, f"the {one.kind}, which is switched off,", True, False)
        elif name == ENABLED and isinstance(value, Text) and (instead is True or _is_negation(value, instead)):
            yield Observation(Question.LOST, f"the option `{value.code}` of the {one.kind}", True, False)
        elif (
            name == DEVICE
            and _is_kept(one.kind, may_switch_off)
            and isinstance(value, str)
            and isinstance(instead, str)
        ):
            yield Observation(Question.LOST, f"the {one.kind} for {value!r}", True, False)
        elif one.kind == "scaler" and not may_switch_off and _is_stuck(name, instead) and not _is_stuck(name, value):
            yield Observation(Question.LOST, f"a loss scale that moves ({name}={instead})", True, False)
        elif name == "dtype" and instead == precision.FLOAT32:
            yield Observation(Question.LOST, "half precision in a region", True, False)
        elif is_about_settings and _is_other(value, instead):
            yield Observation(Question.MEANT, f"{name} of a {one.kind}, {_shown(instead)},", True, False)


def _is_kept(kind: str, may_switch_off: bool) -> bool:
    """Whether something has to be on where it was: a scaler for a device that is not there switches itself off."""
    return kind == "region" or not may_switch_off


def _is_stuck(name: str, value: object) -> bool:
    if not isinstance(value, (int, float)):
        return False
    if name in ("init_scale", "growth_factor"):
        return value <= 1
    return (name == "growth_interval" and value >= _NEVER_GROWS) or (name == "backoff_factor" and value >= 1)


def _is_other(value: object, instead: object) -> bool:
    """Whether two values are certainly not the same: two literals, a flag and its negation, a flag that is none any more."""
    if isinstance(value, Text) and isinstance(instead, Text):
        return _is_negation(value, instead)
    if isinstance(value, Text):
        return isinstance(instead, bool)
    return not isinstance(instead, Text)


def _is_negation(value: Text, instead: object) -> bool:
    """Whether a condition is the opposite of another one."""
    if not isinstance(instead, Text):
        return False
    mine, theirs = (ast.parse(each.code, mode="eval").body for each in (value, instead))
    return ast.dump(_negated(mine)) == ast.dump(theirs) or ast.dump(mine) == ast.dump(_negated(theirs))


def _negated(test: ast.expr) -> ast.expr:
    match test:
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Compare(left, [operator], [right]) if type(operator) in _OPPOSITE:
            return ast.Compare(left, [_OPPOSITE[type(operator)]()], [right])
    return ast.UnaryOp(ast.Not(), test)


def _shown(value: object) -> str:
    return value.code if isinstance(value, Text) else str(value)
