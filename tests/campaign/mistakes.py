"""What goes wrong: each mistake changes the moves of an iteration. A new one needs one function with `@mistake`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .code import Move
from .scene import Scene

Mistake = Callable[[Scene, list[Move]], list[Move]]
MISTAKES: list[Mistake] = []


def mistake(made: Mistake) -> Mistake:
    """File a mistake."""
    MISTAKES.append(made)
    return made


def _one_of(scene: Scene, moves: list[Move], *kinds: str) -> int | None:
    positions = [position for position, move in enumerate(moves) if move.kind in kinds]
    return scene.pick(positions) if positions else None


@mistake
def forget(scene: Scene, moves: list[Move]) -> list[Move]:
    """A move is missing."""
    at = _one_of(scene, moves, "update", "unscale", "zero", "step", "clip", "ask")
    if at is None or moves[at].kind == "ask":
        return moves
    return moves[:at] + moves[at + 1 :]


@mistake
def bypass(scene: Scene, moves: list[Move]) -> list[Move]:
    """A plain step, or a plain backward pass."""
    at = _one_of(scene, moves, "step", "backward")
    if at is None or moves[at].plain is None:
        return moves
    return [*moves[:at], replace(moves[at], code=moves[at].plain or ()), *moves[at + 1 :]]


@mistake
def transpose(scene: Scene, moves: list[Move]) -> list[Move]:
    """A move is made too late by one or two."""
    at = _one_of(scene, moves, "zero", "unscale", "clip", "step", "update", "schedule", "read")
    if at is None:
        return moves
    moved = [*moves[:at], *moves[at + 1 :]]
    to = min(at + scene.pick((1, 2)), len(moved))
    return [*moved[:to], moves[at], *moved[to:]]


@mistake
def advance(scene: Scene, moves: list[Move]) -> list[Move]:
    """A move is made too early."""
    at = _one_of(scene, moves, "zero", "clip", "step", "update", "schedule", "unscale", "read")
    if at is None or at == 0:
        return moves
    moved = [*moves[:at], *moves[at + 1 :]]
    to = max(at - scene.pick((1, 2, 3)), 0)
    return [*moved[:to], moves[at], *moved[to:]]


@mistake
def repeat(scene: Scene, moves: list[Move]) -> list[Move]:
    """A move is made twice."""
    at = _one_of(scene, moves, "unscale", "update", "clip", "zero", "step")
    if at is None:
        return moves
    to = min(at + scene.pick((1, 2)), len(moves))
    return [*moves[:to], moves[at], *moves[to:]]


@mistake
def slip_the_guard(scene: Scene, moves: list[Move]) -> list[Move]:
    """A move is made in every iteration, or only in some."""
    guards = sorted({guard for move in moves for guard in move.guards})
    at = _one_of(scene, moves, "unscale", "clip", "update", "zero", "step", "schedule")
    if at is None or not guards:
        return moves
    changed = () if moves[at].guards else (guards[0],)
    return [*moves[:at], replace(moves[at], guards=changed), *moves[at + 1 :]]
