"""What constructing one of torch's AMP objects comes to: the error, the warning, and the settings that it ends up with.

Only torch's own classes are called, with the literals of the code; a flag that the code computes is False, a device that it
computes is a GPU, any other setting that it computes is torch's default. Where there is no GPU, scalers are made for the
CPU: the device decides nothing else about them.
"""

from __future__ import annotations

import ast
import operator
import warnings
from typing import Any

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.model import observable, torch_api
from amplint.model.literals import number
from amplint.rule import File
from amplint.runtime.measurement import NONE, Figure, Measurement
from amplint.runtime.record import NotReplayable

_NAMES = torch_api.AUTOCAST | torch_api.GRAD_SCALER | {
    f"torch.{module}.custom_{way}" for module in ("amp", "cuda.amp") for way in ("fwd", "bwd")
}  # fmt: skip
_FLAGS = frozenset({"enabled", "cache_enabled"})
_UNKNOWN = object()


def take(before: File, after: File, diagnostic: Diagnostic, measure: str) -> Measurement:
    """Construct what a diagnostic is about, as the code stands and with the fix.

    Raises:
        NotReplayable: nothing is constructed there, or in a way that cannot be told.
    """
    mentions = _mentions(before)
    place = next((index for index, node in enumerate(mentions) if before.range(node) == diagnostic.range), None)
    counterparts = _mentions(after)
    if place is None or len(counterparts) != len(mentions):
        raise NotReplayable("what is constructed is not found again")
    first, second = _Made(before, mentions[place]), _Made(after, counterparts[place])
    if measure == observable.WARNED:
        return Measurement((Figure(measure, first.warned, second.warned, 0.0),))
    figures = [Figure(observable.ERROR, first.error, second.error, NONE)]
    for name in dict.fromkeys((*first.settings, *second.settings)):
        was, is_ = first.settings.get(name, NONE), second.settings.get(name, NONE)
        figures.append(
            Figure(name, was, is_, first.meant.get(name, is_.partition(":")[0] if isinstance(is_, str) else is_))
        )
    telling = [each for each in figures if len({each.before, each.after, each.reference}) > 1]
    return Measurement(tuple(telling or figures[:1]))


def _mentions(file: File) -> list[cst.Name | cst.Attribute]:
    """Where a file speaks of AMP's classes, in its order."""
    return sorted(file.names.references(_NAMES), key=file.tree.span)


class _Made:
    """What came of one construction: the error, how many deprecation warnings, and the settings of the object.

    `meant` are settings that the first argument, wherever it landed, was plainly meant for.
    """

    def __init__(self, file: File, node: cst.Name | cst.Attribute) -> None:
        self.error, self.warned = NONE, 0.0
        self.settings: dict[str, float | str] = {}
        self.meant: dict[str, float | str] = {}
        [name] = file.names.resolve(node)
        positional, keywords = _arguments(file, node)
        if name in torch_api.GRAD_SCALER:
            self._mean(positional)
            positional, keywords = _without_gpu(name, positional, keywords)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self._look_at(operator.attrgetter(name.removeprefix("torch."))(torch)(*positional, **keywords))
            except (TypeError, ValueError, RuntimeError, AssertionError) as error:
                self.error = f"{type(error).__name__}: {' '.join(str(error).split())}".partition(". ")[0]
        self.warned = float(sum(issubclass(each.category, FutureWarning) for each in caught))

    def _mean(self, positional: list[Any]) -> None:
        flags = [each for each in positional[:2] if isinstance(each, bool)]
        numbers = [each for each in positional[:2] if isinstance(each, (int, float)) and not isinstance(each, bool)]
        if flags:
            self.meant["enabled"] = str(flags[0])
        elif numbers:
            self.meant["initial scale"] = float(numbers[0])

    def _look_at(self, made: object) -> None:
        if isinstance(made, torch.autocast):
            self.settings["device type"] = str(made.device)
            with made:
                pass
        elif isinstance(made, torch.amp.GradScaler):
            self.settings["enabled"] = str(made.is_enabled())
            if made.is_enabled():
                self.settings["initial scale"] = float(made.get_scale())
        elif callable(made):
            decorated: object = made(_decorated)
            assert callable(decorated)


def _decorated(*_: object) -> None:
    """A function to decorate."""


def _without_gpu(name: str, positional: list[Any], keywords: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    if torch.cuda.is_available() or name not in torch_api.GRAD_SCALER_GENERIC:
        return positional, keywords
    if positional[:1] == ["cuda"] or (not positional and "device" not in keywords):
        return ["cpu", *positional[1:]], keywords
    return positional, {**keywords, "device": "cpu"} if keywords.get("device") == "cuda" else keywords


# -- arguments ---------------------------------------------------------------------------------------------------------


def _arguments(file: File, node: cst.Name | cst.Attribute) -> tuple[list[Any], dict[str, Any]]:
    call = file.tree.parent(node)
    if isinstance(call, cst.Decorator):  # decorating with the function itself
        return [_decorated], {}
    args = list(call.args) if isinstance(call, cst.Call) and call.func is node else _preset(file, node)
    if any(arg.star for arg in args):
        raise NotReplayable("the arguments are not written down")
    positional = [_value(file, arg.value) for arg in args if arg.keyword is None]
    values = {arg.keyword.value: _value(file, arg.value) for arg in args if arg.keyword is not None}
    positional = [False if value is _UNKNOWN else value for value in positional]
    flags = {name: False for name, value in values.items() if value is _UNKNOWN and name in _FLAGS}
    return positional, {name: value for name, value in values.items() if value is not _UNKNOWN} | flags


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
    if isinstance(node, cst.FormattedString):
        return "".join(each.value if isinstance(each, cst.FormattedStringText) else "0" for each in node.parts)
    known = {name for name in file.names.resolve(node) if name.startswith("torch.")}
    if len(known) == 1:
        constant = getattr(torch, next(iter(known)).removeprefix("torch."), None)
        if isinstance(constant, torch.dtype):
            return constant
    if isinstance(node, cst.Call) and file.names.all_in(node.func, {"torch.device"}):
        return torch.device("cuda")
    if isinstance(node, cst.Attribute) and node.attr.value == "type":
        return "cuda"
    if isinstance(node, cst.Name) and depth < 4:
        values = [each.value for each in file.names.bindings(node.value, node)]
        if len(values) == 1 and values[0] is not None:
            return _value(file, values[0], depth + 1)
    return torch.device("cuda") if "device" in text else _UNKNOWN
