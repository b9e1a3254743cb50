"""The regions and scalers that a file makes, with all their settings by what the arguments mean."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import libcst as cst

from amplint.model.literals import number
from amplint.model.torch import names as torch_names
from amplint.model.torch import precision
from amplint.rule import File

DEVICE, ENABLED = "device", "enabled"
_REGION: Mapping[str, object] = MappingProxyType({DEVICE: "cuda", "dtype": None, ENABLED: True, "cache_enabled": True})
_SCALER: Mapping[str, object] = MappingProxyType(
    {
        DEVICE: "cuda",
        "init_scale": 2.0**16,
        "growth_factor": 2.0,
        "backoff_factor": 0.5,
        "growth_interval": 2000,
        ENABLED: True,
    }
)
"""The settings with their defaults, in the order of the arguments; the dtype is then that of the device."""
_DEVICE_REGION = (ENABLED, "dtype", "cache_enabled")
"""The order in which `torch.cuda.amp.autocast` takes them."""


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
                found.append((construction(file, name, args), call))
    return found


def is_bare(file: File, node: cst.CSTNode) -> bool:
    """Whether an expression is a statement that makes a region, and drops it.

    Args:
        file: the file.
        node: the expression.
    """
    is_statement = isinstance(file.tree.parent(node), cst.Expr)
    return is_statement and isinstance(node, cst.Call) and file.contexts.only_makes(node)


def construction(file: File, name: str, args: Sequence[cst.Arg]) -> AmpObject:
    """A region or a scaler with all its settings.

    Args:
        file: the file.
        name: the full name of the class.
        args: what it is given.
    """
    is_scaler = name in torch_names.GRAD_SCALER
    settings = dict(_SCALER if is_scaler else _REGION)
    devices = torch_names.GRAD_SCALER_DEVICE if is_scaler else torch_names.AUTOCAST_DEVICE
    order = list(settings)
    if name in devices:
        settings[DEVICE] = devices[name]
        order = order[1:] if is_scaler else list(_DEVICE_REGION)
    for position, arg in enumerate(args):
        key = arg.keyword.value if arg.keyword is not None else order[position] if position < len(order) else "?"
        value = _value(file, arg.value)
        if value is not None:
            settings["device" if key == "device_type" else key] = value
    if not is_scaler and settings["dtype"] is None and isinstance(settings[DEVICE], str):
        settings["dtype"] = precision.BFLOAT16 if settings[DEVICE] == "cpu" else precision.FLOAT16
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
    if isinstance(node, cst.Attribute) and node.attr.value == "type" and (device := _device(file, node.value)):
        return device
    if isinstance(node, cst.Name) and depth < 4:
        values = [each.value for each in file.names.bindings(node.value, node)]
        if len(values) == 1 and values[0] is not None:
            return _value(file, values[0], depth + 1)
    return Text(ast.unparse(ast.parse(f"({text})", mode="eval")))


def _device(file: File, node: cst.BaseExpression) -> str:
    """The type of a device that is written down; empty for any other expression."""
    if isinstance(node, cst.Call) and node.args and file.names.all_in(node.func, {"torch.device"}):
        value = _value(file, node.args[0].value)
        return value.partition(":")[0] if isinstance(value, str) else ""
    return ""


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
