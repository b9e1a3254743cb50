"""What becomes of a piece of a program when its operand takes other values: the marked lines, run where they stand.

A plant that is about numbers computes `term` from `out`. When a run gets to its first marked line, these lines are run again
and again, in the same place of the same run (so `out` has the dtype that the program gave it, and the regions around are
those of the program), with values of `out` from zero to what its rule is about; and once more without autocast in a wide
precision. Where the wide answer, or its gradient, is finite and the program's is not, the lines are spoiled.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

HALVES = (torch.float16, torch.bfloat16)


@dataclass(frozen=True)
class Sweep:
    """Which values `out` takes, and the precision of the answer that is right.

    An answer that is zero counts as spoiled where the right one is at least `flushed`.
    """

    values: tuple[float, ...]
    wide: torch.dtype = torch.float32
    flushed: float = math.inf


@dataclass(frozen=True)
class Probe:
    """What marked lines did: whether they are spoiled, in half or under autocast, and the dtype of `term`."""

    spoiled: bool
    dtype: torch.dtype | None


@dataclass(frozen=True)
class _Answer:
    """Of `term` and of the gradient of `out`, whether they are finite; None where PyTorch raises, or there is none.

    `largest` is the largest magnitude in `term`.
    """

    value: bool | None
    gradient: bool | None
    largest: float
    dtype: torch.dtype | None = None


class Prober:
    """Traces a program, and probes its marked lines the first time that it gets to them; `probes` are by their first row."""

    def __init__(self, file: str, text: str, rows: frozenset[int], sweep: Sweep) -> None:
        self.probes: dict[int, Probe] = {}
        self._file, self._sweep = file, sweep
        self._blocks = dict(_blocks(ast.parse(text), rows, file))

    def __enter__(self) -> Prober:
        if self._blocks:
            sys.settrace(self._enter)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(None)

    def _enter(self, frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        return self._line if frame.f_code.co_filename == self._file else None

    def _line(self, frame: FrameType, event: str, arg: object) -> Callable[..., Any]:
        row = frame.f_lineno
        if event == "line" and row in self._blocks and row not in self.probes:
            self.probes[row] = _probe(self._blocks[row], {**frame.f_globals, **frame.f_locals}, self._sweep)
            if len(self.probes) == len(self._blocks):
                sys.settrace(None)
        return self._line


def _blocks(module: ast.Module, rows: frozenset[int], file: str) -> Iterator[tuple[int, CodeType]]:
    """Neighbouring simple statements on marked rows, by the first of these rows."""
    for node in ast.walk(module):
        body = getattr(node, "body", None)
        marked = [each for each in body if each.lineno in rows] if isinstance(body, list) else []
        if marked and all(isinstance(each, (ast.Assign, ast.AugAssign, ast.Expr)) for each in marked):
            yield marked[0].lineno, compile(ast.Module(marked, []), file, "exec")


def _probe(block: CodeType, names: Mapping[str, Any], sweep: Sweep) -> Probe:
    out: torch.Tensor = names["out"]
    wants_gradient = out.requires_grad and torch.is_grad_enabled()
    concerned = out.dtype in HALVES or torch.is_autocast_enabled("cuda")
    dtype = None
    for operand in _operands(len(out), sweep.values):
        given = _answer(block, names, operand.to(out.dtype), wants_gradient)
        dtype = given.dtype or dtype
        suspicious = not given.value or given.gradient is False or (given.largest == 0.0 and sweep.flushed < math.inf)
        if concerned and suspicious:
            right = _wide(block, names, operand, wants_gradient, sweep)
            flushed = given.largest == 0.0 and right.largest >= sweep.flushed
            if flushed or _is_spoiled(given, right):
                return Probe(True, dtype)
    return Probe(False, dtype)


def _operands(count: int, values: tuple[float, ...]) -> Iterator[torch.Tensor]:
    """Rows of eight numbers: each value, its opposite, and both in turns."""
    turns = torch.tensor([1.0, -1.0] * 4)
    for value in values:
        for signs in (torch.ones(8), -torch.ones(8), turns) if value else (torch.ones(8),):
            yield (signs * value).repeat(count, 1)


def _wide(
    block: CodeType, names: Mapping[str, Any], operand: torch.Tensor, wants_gradient: bool, sweep: Sweep
) -> _Answer:
    """The answer without autocast, and with every cast left out."""
    was_enabled = torch.is_autocast_enabled("cuda")
    torch.set_autocast_enabled("cuda", False)
    wide = operand.to(sweep.wide)
    try:
        with _Uncast():
            return _answer(block, names, wide, wants_gradient)
    finally:
        torch.set_autocast_enabled("cuda", was_enabled)


def _answer(block: CodeType, names: Mapping[str, Any], operand: torch.Tensor, wants_gradient: bool) -> _Answer:
    operand.requires_grad_(wants_gradient)
    # A leaf cannot be changed in place; what a model gives back can.
    space = {**names, "out": operand * 1.0 if wants_gradient else operand}
    try:
        exec(block, space)
        term: torch.Tensor = space["term"]
        value, largest = bool(term.isfinite().all()), float(term.abs().max())
        if not (wants_gradient and term.requires_grad):
            return _Answer(value, None, largest, term.dtype)
        gradient = torch.autograd.grad(term.float().sum(), operand)[0]
    except RuntimeError:
        return _Answer(None, None, math.nan)
    return _Answer(value, bool(gradient.isfinite().all()), largest, term.dtype)


def _is_spoiled(given: _Answer, right: _Answer) -> bool:
    return (right.value is True and given.value is not True) or (right.gradient is True and given.gradient is False)


class _Uncast(TorchFunctionMode):  # type: ignore[misc]  # torch is not followed by mypy
    """Leaves out conversions between floating dtypes."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        converts = name in ("float", "half", "bfloat16", "double", "type_as")
        converts |= name in ("to", "type") and any(
            isinstance(each, torch.dtype) for each in (*args[1:], *kwargs.values())
        )
        if converts and isinstance(args[0], torch.Tensor) and args[0].is_floating_point():
            return args[0]
        return func(*args, **kwargs)
