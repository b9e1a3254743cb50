"""The regions and scalers of a file with all their settings, by what the arguments mean: whether a repair keeps them.

Held against each other are the file with a repair and the file with amplint's own fix, which keeps what the author wrote.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import libcst as cst

from amplint.model.literals import number
from amplint.model.torch import names as torch_names
from amplint.model.torch import precision
from amplint.rule import File
from amplint.runtime.criterion import Observation, Question

_DEVICE, _ENABLED = "device", "enabled"
_REGION: Mapping[str, object] = MappingProxyType(
    {_DEVICE: "cuda", "dtype": None, _ENABLED: True, "cache_enabled": True}
)
_SCALER: Mapping[str, object] = MappingProxyType(
    {
        _DEVICE: "cuda",
        "init_scale": 2.0**16,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2000,
        _ENABLED: True,
    }
)
"""The settings with their defaults, in the order of the arguments; the dtype is then that of the device."""
_DEVICE_REGION = (_ENABLED, "dtype", "cache_enabled")
"""The order in which `torch.cuda.amp.autocast` takes them."""
_NEVER_GROWS = 10**6
"""So many steps without an overflow there are not."""


@dataclass(frozen=True)
class Text:
    """The value of a setting that only a run can tell, as the code writes it."""

    code: str


@dataclass(frozen=True)
class AmpObject:
    """A region or a scaler that a file makes, with the settings in the order of their names."""

    kind: str
    settings: tuple[tuple[str, object], ...]

    @property
    def by_name(self) -> dict[str, object]:
        """The settings by their names."""
        return dict(self.settings)

    def distance(self, other: AmpObject) -> int:
        """The number of settings in which another one differs."""
        return len(set(self.settings) ^ set(other.settings))


def made_in(file: File) -> list[tuple[AmpObject, cst.CSTNode]]:
    """The regions and scalers that a file makes, each with the call; those with starred arguments are left out."""
    found: list[tuple[AmpObject, cst.CSTNode]] = []
    for node in sorted(file.names.references(torch_names.AUTOCAST | torch_names.GRAD_SCALER), key=file.tree.span):
        call = file.tree.parent(node)
        if isinstance(call, cst.Call) and call.func is node:
            args = call.args
        elif isinstance(call, cst.Arg) and isinstance(around := file.tree.parent(call), cst.Call):
            args, call = around.args[1:], around
            if not file.names.all_in(around.func, {"functools.partial"}):
                continue
        else:
            continue
        for name in sorted(file.names.resolve(node)):
            if not any(arg.star for arg in args):
                found.append((_construction(file, name, args), call))
    return found


def _construction(file: File, name: str, args: Sequence[cst.Arg]) -> AmpObject:
    is_scaler = name in torch_names.GRAD_SCALER
    settings = dict(_SCALER if is_scaler else _REGION)
    devices = torch_names.GRAD_SCALER_DEVICE if is_scaler else torch_names.AUTOCAST_DEVICE
    order = list(settings)
    if name in devices:
        settings[_DEVICE] = devices[name]
        order = order[1:] if is_scaler else list(_DEVICE_REGION)
    for position, arg in enumerate(args):
        key = arg.keyword.value if arg.keyword is not None else order[position] if position < len(order) else "?"
        value = _value(file, arg.value)
        if value is not None:
            settings["device" if key == "device_type" else key] = value
    if not is_scaler and settings["dtype"] is None and isinstance(settings[_DEVICE], str):
        settings["dtype"] = precision.BFLOAT16 if settings[_DEVICE] == "cpu" else precision.FLOAT16
    return AmpObject("scaler" if is_scaler else "region", tuple(settings.items()))


def _value(file: File, node: cst.BaseExpression, depth: int = 0) -> object:
    text = file.tree.text(node)
    try:
        literal = ast.literal_eval(text)
        return literal if isinstance(literal, (str, int, float, type(None))) else Text(text)
    except (ValueError, SyntaxError):
        if (arithmetic := number(text)) is not None:
            return arithmetic
    names = file.names.resolve(node)
    dtypes = {precision.DTYPES[name] for name in names if name in precision.DTYPES}
    if len(names) == 1 == len(dtypes):
        return dtypes.pop()
    if isinstance(node, cst.Name) and depth < 4:
        values = [each.value for each in file.names.bindings(node.value, node)]
        if len(values) == 1 and values[0] is not None:
            return _value(file, values[0], depth + 1)
    return Text(ast.unparse(ast.parse(f"({text})", mode="eval")))


def misplaced_dtypes(file: File) -> set[str]:
    """The dtypes that regions of a file are given in the place of the flag that switches them on."""
    halves = precision.FLOAT16, precision.BFLOAT16
    found = {made.by_name[_ENABLED] for made, _ in made_in(file) if made.kind == "region"}
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
        if one.by_name[_ENABLED] is not False:
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


def _pairs(own: File, after: File) -> Iterator[tuple[AmpObject, AmpObject]]:
    """What a repair makes in another way than amplint's own fix, side by side."""
    missing, extra = unlike(own, after)
    for one in missing:
        counterpart = min((other for other in extra if other.kind == one.kind), key=one.distance, default=None)
        if counterpart is not None:
            extra.remove(counterpart)
            yield one, counterpart


def unlike(own: File, after: File) -> tuple[list[AmpObject], list[AmpObject]]:
    """The regions and scalers of one file that another has not, and those that it has instead.

    Args:
        own: the file with amplint's own fix.
        after: the file with the repair.
    """
    mine, theirs = (Counter(made for made, _ in made_in(file)) for file in (own, after))
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
    device = theirs[_DEVICE]
    is_told = isinstance(device, Text) and device.code.endswith(".type")
    return is_told and (
        differing == {_DEVICE} or (differing == {_DEVICE, "dtype"} and None in (mine["dtype"], theirs["dtype"]))
    )


def _compared(one: AmpObject, other: AmpObject, is_about_settings: bool, may_switch_off: bool) -> Iterator[Observation]:
    mine, theirs = one.by_name, other.by_name
    for name in dict.fromkeys((*mine, *theirs)):
        value, instead = mine.get(name), theirs.get(name)
        if value == instead or (
            name == "dtype" and None in (value, instead)
        ):  # none: of a device that only the run tells
            continue
        if name == _ENABLED and instead is False and _is_kept(one.kind, may_switch_off):
            yield Observation(Question.LOST, f"the {one.kind}, which is switched off,", True, False)
        elif name == _ENABLED and isinstance(value, Text) and instead is True:
            yield Observation(Question.LOST, f"the option `{value.code}` of the {one.kind}", True, False)
        elif (
            name == _DEVICE
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
        return instead.code in (f"not {value.code}", f"not ({value.code})") or value.code == f"not {instead.code}"
    if isinstance(value, Text):
        return isinstance(instead, bool)
    return not isinstance(instead, Text)


def _shown(value: object) -> str:
    return value.code if isinstance(value, Text) else str(value)


def within_construction(node: ast.AST | None, file: File) -> bool:
    """Whether an expression lies within what makes a region or a scaler.

    Args:
        node: an expression of Python's own tree of the file.
        file: the file.
    """
    if not isinstance(node, ast.expr) or node.end_lineno is None or node.end_col_offset is None:
        return False
    for _, call in made_in(file):
        start, end = file.range(call)
        first, last = (start.row, start.column - 1), (end.row, end.column - 1)
        if first <= (node.lineno, node.col_offset) and (node.end_lineno, node.end_col_offset) <= last:
            return True
    return False
