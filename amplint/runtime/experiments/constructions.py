"""What constructing one of torch's AMP objects comes to: the error, the warning, and the settings that it ends up with.

Only torch's own classes are called, with the literals of the code; a flag that the code computes is False, a device that it
computes is a GPU, any other setting that it computes is torch's default. On the CPU proper, scalers are made for the CPU instead.
"""

from __future__ import annotations

import operator
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
from amplint.model.torch import names as torch_names
from amplint.rule import File
from amplint.runtime.experiments import deprecated_names
from amplint.runtime.experiments.chosen_objects import entered_again, unexplained
from amplint.runtime.experiments.constructor_arguments import arguments_of, decorated
from amplint.runtime.experiments.counterparts import constructed_again
from amplint.runtime.measures.measurement import NONE, Figure, Measurement
from amplint.runtime.recording.patches import Patches
from amplint.runtime.training.run_record import NotReplayable


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
        first, second = _Made(before, pair[0], sure=False), _Made(after, pair[1], sure=False)
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

    def __init__(self, file: File, node: cst.BaseExpression, name: str = "", sure: bool = True) -> None:
        self.error, self.warned = NONE, 0
        self.settings: dict[str, float | str] = {}
        self.meant: dict[str, float | str] = {}
        name = name or _name(file, node)
        positional, keywords = arguments_of(file, node, sure)
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
            result: object = made(decorated)
            assert callable(result)


def _without_gpu(name: str, positional: list[Any], keywords: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    if not torch.cuda.amp.common.amp_definitely_not_available() or name not in torch_names.GRAD_SCALER_GENERIC:
        return positional, keywords
    if positional[:1] == ["cuda"] or (not positional and "device" not in keywords):
        return ["cpu", *positional[1:]], keywords
    return positional, {**keywords, "device": "cpu"} if keywords.get("device") == "cuda" else keywords
