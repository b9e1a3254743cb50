"""What constructing one of torch's AMP objects comes to: the error, the warning, and the settings that it ends up with.

Only torch's own classes are called, with the literals of the code; a flag that the code computes is False, a device that it
computes is a GPU, any other setting that it computes is torch's default. On the CPU proper, scalers are made for the CPU instead.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.model import observables
from amplint.model.literals import number
from amplint.model.torch import names as torch_names
from amplint.rule import File
from amplint.runtime.experiments import deprecated_names
from amplint.runtime.experiments.chosen_objects import entered_again, unexplained
from amplint.runtime.experiments.counterparts import constructed_again
from amplint.runtime.measures.measurement import NONE, Figure, Measurement
from amplint.runtime.recording.patches import Patches
from amplint.runtime.training.run_record import NotReplayable

_FLAGS = frozenset({"enabled", "cache_enabled"})
_BLANKS = re.compile(r"\{[^{}]*\}|%[ds]")
_UNKNOWN = object()


def warned(before: File, after: File, diagnostic: Diagnostic, device: str, seed: int) -> Measurement:
    """Count the deprecation warnings of what a diagnostic is about, as the code stands and with the fix.

    Of a name that is only imported, or only stands for a type, see `amplint.runtime.experiments.deprecated_names`.

    Raises:
        NotReplayable: nothing is constructed there, or in a way that cannot be told.
    """
    pair = constructed_again(before, after, diagnostic)
    if pair is None:
        return deprecated_names.imported(before, after, diagnostic)
    if deprecated_names.is_type(before, pair[0]):
        return deprecated_names.typed(_name(before, pair[0]), _name(after, pair[1]))
    with _apart():
        first, second = _Made(before, pair[0]), _Made(after, pair[1])
    return Measurement((Figure(observables.WARNED, first.warned, second.warned, 0),))


def constructed(before: File, after: File, diagnostic: Diagnostic, device: str, seed: int) -> Measurement:
    """Look at the error and the settings of what a diagnostic is about, as the code stands and with the fix.

    Raises:
        NotReplayable: nothing is constructed there, or in a way that cannot be told.
    """
    pair = constructed_again(before, after, diagnostic)
    if pair is None:
        return _chosen(before, after, diagnostic)
    with _apart():
        first, second = _Made(before, pair[0]), _Made(after, pair[1])
    return Measurement(_figures(first, second))


def _chosen(before: File, after: File, diagnostic: Diagnostic) -> Measurement:
    """The same of a name that stands for several classes, by conditions that choose what is entered afterwards, too.

    Raises:
        NotReplayable: not the same is entered under the same conditions.
    """
    row = diagnostic.range.start.row
    for mine, theirs in entered_again(before, after, row):
        is_it = isinstance(mine.item, cst.Call) and before.range(mine.item.func) == diagnostic.range
        if is_it and mine.choice == theirs.choice:
            with _apart():
                figures = [
                    replace(figure, name=f"{figure.name} ({one.name})")
                    for key, one in mine.choice.items()
                    for figure in _figures(
                        _Made(before, one.call.func, one.name),
                        _Made(after, theirs.choice[key].call.func, theirs.choice[key].name),
                    )
                ]
            figures.sort(key=lambda each: each.before == each.after)
            return Measurement(tuple(figures), beyond=unexplained(before, after, row))
    raise NotReplayable("what is constructed is not found again")


def _figures(first: _Made, second: _Made) -> tuple[Figure, ...]:
    """The error and the settings, as far as they tell anything."""
    figures = [Figure(observables.RAISED, first.error, second.error, NONE)]
    for name in dict.fromkeys((*first.settings, *second.settings)):
        was, is_ = first.settings.get(name, NONE), second.settings.get(name, NONE)
        figures.append(
            Figure(name, was, is_, first.meant.get(name, is_.partition(":")[0] if isinstance(is_, str) else is_))
        )
    telling = [each for each in figures if len({each.before, each.after, each.reference}) > 1]
    return tuple(telling or figures[:1])


def _name(file: File, node: cst.BaseExpression) -> str:
    """The full name of what a node names, of which there is one."""
    [name] = file.names.resolve(node)
    return name


@contextmanager
def _apart() -> Iterator[None]:
    """A region that raises on entry has set half of autocast's state by then, and is never left: that is taken back here."""
    patches = Patches()
    for kind in ("cuda", "cpu"):
        patches.on_undo(partial(torch.set_autocast_enabled, kind, torch.is_autocast_enabled(kind)))
        patches.on_undo(partial(torch.set_autocast_dtype, kind, torch.get_autocast_dtype(kind)))
    try:
        yield
    finally:
        patches.undo()


class _Made:
    """What came of one construction: the error, how many deprecation warnings, and the settings of the object.

    `meant` are settings that the first argument, wherever it landed, was plainly meant for.
    """

    def __init__(self, file: File, node: cst.BaseExpression, name: str = "") -> None:
        self.error, self.warned = NONE, 0
        self.settings: dict[str, float | str] = {}
        self.meant: dict[str, float | str] = {}
        name = name or _name(file, node)
        positional, keywords = _arguments(file, node)
        if name in torch_names.GRAD_SCALER:
            self._mean(positional)
            positional, keywords = _without_gpu(name, positional, keywords)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                self._look_at(operator.attrgetter(name.removeprefix("torch."))(torch)(*positional, **keywords))
            except (TypeError, ValueError, RuntimeError, AssertionError) as error:
                self.error = f"{type(error).__name__}: {' '.join(str(error).split())}".partition(". ")[0]
        self.warned = sum(issubclass(each.category, FutureWarning) for each in caught)

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
    if not torch.cuda.amp.common.amp_definitely_not_available() or name not in torch_names.GRAD_SCALER_GENERIC:
        return positional, keywords
    if positional[:1] == ["cuda"] or (not positional and "device" not in keywords):
        return ["cpu", *positional[1:]], keywords
    return positional, {**keywords, "device": "cpu"} if keywords.get("device") == "cuda" else keywords


# -- arguments ---------------------------------------------------------------------------------------------------------


def _arguments(file: File, node: cst.BaseExpression) -> tuple[list[Any], dict[str, Any]]:
    call = file.tree.parent(node)
    if isinstance(call, cst.Decorator):  # decorating with the function itself
        return [_decorated], {}
    args = list(call.args) if isinstance(call, cst.Call) and call.func is node else _preset(file, node)
    if any(arg.star for arg in args):
        raise NotReplayable("the arguments are not written down")
    positional = [_positional(file, arg.value) for arg in args if arg.keyword is None]
    values = {arg.keyword.value: _value(file, arg.value) for arg in args if arg.keyword is not None}
    flags = {name: False for name, value in values.items() if value is _UNKNOWN and name in _FLAGS}
    return positional, {name: value for name, value in values.items() if value is not _UNKNOWN} | flags


def _positional(file: File, node: cst.BaseExpression) -> Any:
    """The value of an argument that no keyword tells the purpose of; what looks like a flag is one."""
    value = _value(file, node)
    if value is not _UNKNOWN:
        return value
    if isinstance(node, (cst.Name, cst.Attribute, cst.Comparison, cst.BooleanOperation, cst.UnaryOperation)):
        return False
    raise NotReplayable(f"the value of `{file.tree.text(node)}` cannot be told")


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
        return torch.device("cuda")
    if isinstance(node, cst.Attribute) and node.attr.value == "type":
        return "cuda"
    if isinstance(node, cst.Name) and depth < 4:
        values = [each.value for each in file.names.bindings(node.value, node)]
        if len(values) == 1 and values[0] is not None:
            return _value(file, values[0], depth + 1)
    return torch.device("cuda") if "device" in text else _UNKNOWN


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
