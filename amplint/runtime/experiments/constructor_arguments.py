"""The arguments that one of torch's AMP objects is constructed with, as values.

A flag that the code computes is False, a device that it computes is a GPU, any other setting that it computes is left out.
Where a verdict depends on what an argument is, a name alone makes no device of it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

import libcst as cst
import torch

from amplint.model import vocabulary
from amplint.model.literals import number
from amplint.rule import File
from amplint.runtime.training.run_record import NotReplayable

_FLAGS = frozenset({"enabled", "cache_enabled"})
_DEVICES = frozenset({"device", "device_type"})
_BLANKS = re.compile(r"\{[^{}]*\}|%[ds]")
_TESTS = (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation)
_UNKNOWN = object()
_TELLING = 2
"""So many arguments by position tell what a call is taken for; those behind them only come along."""
_MAX_NAMES = 4
"""From a name to what it was assigned, and so on, so many times."""


def decorated(*_: object) -> None:
    """A function to decorate."""


def arguments_of(file: File, node: cst.BaseExpression, sure: bool) -> tuple[list[Any], dict[str, Any]]:
    """What a constructor is given, by position and by name.

    Args:
        file: the file.
        node: what names the class.
        sure: whether it has to be plain what each argument is; else something stands for those of which it is not.

    Raises:
        NotReplayable: nothing is constructed there, or the arguments cannot be told.
    """
    call = file.tree.parent(node)
    if isinstance(call, cst.Decorator):  # decorating with the function itself
        return [decorated], {}
    args = list(call.args) if isinstance(call, cst.Call) and call.func is node else _preset(file, node)
    if any(arg.star for arg in args):
        raise NotReplayable("the arguments are not written down")
    places = enumerate(arg.value for arg in args if arg.keyword is None)
    positional = [_positional(file, value, sure and place < _TELLING) for place, value in places]
    values = {arg.keyword.value: _value(file, arg.value) for arg in args if arg.keyword is not None}
    untold = [name for name, value in values.items() if value is _UNKNOWN and name in _DEVICES]
    if untold and sure:
        raise NotReplayable(f"the value of `{untold[0]}` cannot be told")
    flags = {name: False for name, value in values.items() if value is _UNKNOWN and name in _FLAGS}
    return positional, {name: value for name, value in values.items() if value is not _UNKNOWN} | flags


def _positional(file: File, node: cst.BaseExpression, sure: bool) -> Any:
    """The value of an argument that no keyword tells the purpose of; what looks like a flag is one."""
    value = _value(file, node)
    if value is not _UNKNOWN:
        return value
    if isinstance(node, _TESTS) or isinstance(node, (cst.Name, cst.Attribute)) and (not sure or _is_flag(file, node)):
        return False
    raise NotReplayable(f"the value of `{file.tree.text(node)}` cannot be told")


def _is_flag(file: File, node: cst.Name | cst.Attribute) -> bool:
    """Whether a name is that of a flag, by its annotation, its default, or what it says."""
    if vocabulary.FLAG.fullmatch(node.value if isinstance(node, cst.Name) else node.attr.value):
        return True
    if isinstance(node, cst.Attribute):
        values = list(file.roles.values(node))
        return bool(values) and all(isinstance(each, _TESTS) for each in values)
    params = [each.node for each in file.names.bindings(node.value, node) if isinstance(each.node, cst.Param)]
    told = [each.annotation.annotation if each.annotation is not None else each.default for each in params]
    return bool(told) and all(
        each is not None and file.names.all_in(each, {"builtins.bool", "builtins.True", "builtins.False"})
        for each in told
    )


def _preset(file: File, node: cst.CSTNode) -> list[cst.Arg]:
    """The arguments that `functools.partial` sets."""
    arg = file.tree.parent(node)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if isinstance(call, cst.Call) and call.args[0] is arg and file.names.all_in(call.func, {"functools.partial"}):
        return list(call.args[1:])
    raise NotReplayable("nothing is constructed here")


def _value(file: File, node: cst.BaseExpression, depth: int = 0) -> Any:
    text = file.tree.text(node)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        if (arithmetic := number(text)) is not None:
            return arithmetic
    if isinstance(node, cst.IfExp):
        return _value(file, node.body, depth)
    if isinstance(node, cst.FormattedString):
        return "".join(each.value if isinstance(each, cst.FormattedStringText) else "0" for each in node.parts)
    if (pattern := _pattern(node)) is not None:
        return _BLANKS.sub("0", pattern)
    known = {name for name in file.names.resolve(node) if name.startswith("torch.")}
    if len(known) == 1:
        constant = getattr(torch, next(iter(known)).removeprefix("torch."), None)
        if isinstance(constant, torch.dtype):
            return constant
    if isinstance(node, cst.Call) and file.names.all_in(node.func, {"torch.device"}):
        named = _value(file, node.args[0].value, depth) if len(node.args) == 1 else _UNKNOWN
        return _device(named)
    if isinstance(node, cst.Call) and len(node.args) == 1 and file.names.all_in(node.func, {"builtins.str"}):
        return _text_of(file, node.args[0].value, depth)
    if isinstance(node, cst.Attribute) and node.attr.value == "type":
        return "cuda"
    if isinstance(node, cst.Name) and depth < _MAX_NAMES:
        values = [each.value for each in file.names.bindings(node.value, node)]
        if len(values) == 1 and values[0] is not None:
            return _value(file, values[0], depth + 1)
    if isinstance(node, cst.Attribute) and depth < _MAX_NAMES:
        kept = (_value(file, each, depth + 1) for each in file.roles.values(node))
        spelled = next((each for each in kept if isinstance(each, str)), None)
        if spelled is not None:
            return spelled
    return torch.device("cuda") if _is_device(file, node) or _are_devices(file, node, depth) else _UNKNOWN


def _are_devices(file: File, node: cst.BaseExpression, depth: int) -> bool:
    """Whether all that a function returns, or that calls give to a parameter, are devices that are made there."""
    if depth >= _MAX_NAMES:
        return False
    elsewhere = [source for each in _values_of(file, node) for source in _from_elsewhere(file, each)]
    values = [_value(file, each, depth + 1) if each is not None else None for each in elsewhere]
    return bool(values) and all(isinstance(each, torch.device) for each in values)


def _values_of(file: File, node: cst.BaseExpression) -> Iterator[cst.CSTNode | None]:
    """What is assigned to a name or to an attribute, or the parameter that the name is; any other expression is itself."""
    for value in file.roles.values(node) if isinstance(node, cst.Attribute) else [node]:
        if isinstance(value, cst.Name):
            yield from (each.value or each.node for each in file.names.bindings(value.value, value))
        else:
            yield value


def _from_elsewhere(file: File, source: cst.CSTNode | None) -> Sequence[cst.BaseExpression | None]:
    """What the function returns that a call runs, or what calls give to a parameter; None stands for anything else."""
    if isinstance(source, cst.Param):
        return file.flow.given_to(source) or [None]
    callee = file.callees.of(source, wherever=True) if isinstance(source, cst.Call) else None
    if callee is None or callee.receiver is not None:
        return [None]
    return [each.value for each in file.tree.inside(callee.node, cst.Return)] or [None]


def _is_device(file: File, node: cst.BaseExpression) -> bool:
    """Whether an expression is the device of an object, or a name for one: not what only speaks of devices."""
    if isinstance(node, cst.Attribute):
        return node.attr.value == "device"
    bindings = file.names.bindings(node.value, node) if isinstance(node, cst.Name) else []
    if any(isinstance(each.value, cst.Attribute) and _is_device(file, each.value) for each in bindings):
        return True
    params = [each.node for each in bindings if isinstance(each.node, cst.Param)]
    return bool(params) and all(
        each.annotation is not None and file.names.all_in(each.annotation.annotation, {"torch.device"})
        for each in params
    )


def _device(name: object) -> torch.device:
    """The device of a name; a GPU where the code computes it."""
    try:
        return torch.device(name if isinstance(name, str) else "cuda")
    except RuntimeError:  # put together of parts that are not known
        return torch.device("cuda")


def _text_of(file: File, node: cst.BaseExpression, depth: int) -> object:
    """The text of a device: as the code spells it, or that of a tensor on a GPU, which has an index."""
    if isinstance(node, cst.IfExp):
        return _text_of(file, node.body, depth)
    values = [each.value for each in file.names.bindings(node.value, node)] if isinstance(node, cst.Name) else []
    if len(values) == 1 and values[0] is not None and depth < _MAX_NAMES:
        return _text_of(file, values[0], depth + 1)
    value = _value(file, node, depth)
    if isinstance(value, torch.device) and not isinstance(node, cst.Call):
        return str(torch.device(value.type, value.index or 0))
    return str(value) if isinstance(value, (torch.device, str)) else _UNKNOWN


def _pattern(node: cst.BaseExpression) -> str | None:
    """A text that is put together from a literal and a number, with a blank for the number."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Modulo)):
        literal, blank = node.left, "{}" if isinstance(node.operator, cst.Add) else ""
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        literal, blank = node.func.value, ""
    else:
        return None
    value = literal.evaluated_value if isinstance(literal, cst.SimpleString) else None
    return value + blank if isinstance(value, str) else None
