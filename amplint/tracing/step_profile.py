"""What one step has spent its time on, as plain data. Imports no torch: reports read it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OperationTime:
    """An operation in a module, of one dtype: how often it ran in one step, and for how many seconds."""

    module: str
    kind: str
    operation: str
    dtype: str
    backward: bool
    calls: int
    seconds: float


@dataclass(frozen=True)
class CastTime:
    """Casts in a module; `undone` counts those that take back a cast which was made before, with nothing in between."""

    module: str
    source: str
    target: str
    calls: int
    undone: int
    seconds: float


@dataclass(frozen=True)
class Fallback:
    """A module that computed in float32 inside a region of half precision, and why, in words."""

    module: str
    kind: str
    why: str
    seconds: float


@dataclass(frozen=True)
class StepProfile:
    """What one step, which was run again for it, has spent its time on; each list begins with the slowest."""

    step: int
    operations: tuple[OperationTime, ...]
    casts: tuple[CastTime, ...]
    fallbacks: tuple[Fallback, ...]
