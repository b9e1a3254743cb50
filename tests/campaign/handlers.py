"""Exception handlers: around which moves, where the body fails, and how the handler is left."""

from __future__ import annotations

import re

from .code import Block, Code, Line, Move, grouped, rendered, words
from .scene import Scene
from .shapes import is_plain, modal, put_aside, shape

FAILING = ((7, 8), (2, 3), (10, 11))
"""The iterations in which a body fails, so that its handler is run; those of a second and a third handler are others."""


@shape
def catch(scene: Scene, moves: list[Move]) -> list[Move]:
    """A handler around the backward pass, and around some of what follows, which may stand in a function that fails."""
    start = next((at for at, move in enumerate(moves) if move.kind == "backward" and not move.guards), None)
    if start is None:
        return moves
    end = scene.draw_int(start + 1, len(moves)) if scene.chance(50) else start + 1
    taken = moves[start:end]
    if not is_plain(taken) or any(move.kind == "forward" for move in taken):
        return moves
    body = modal(scene, taken)
    split = scene.pick(_places(body)[1:]) if scene.chance(25) else len(body)
    body, behind = body[:split], body[split:]
    at = scene.pick(_places(body)) if scene.chance(60) else 0
    tried: Code = (*body[:at], _failure(moves), *body[at:])
    hidden = scene.wrapped and not scene.in_class and "scaler" in words(body)
    made = set(re.findall(r"^ *(\w+) = ", rendered(tried), re.MULTILINE))
    if not hidden and not made & words(behind) and scene.chance(30):
        tried = (put_aside(scene, tried),)
    code: list[Line] = [Block("try:", tried), Block("except MemoryError:", _handling(scene))]
    if behind:
        code.append(Block("else:", behind))
    if scene.chance(20):
        cleared = f"{scene.trained[0].optimizer}.zero_grad()"
        code.append(Block("finally:", (scene.pick(("losses.append(step)", cleared)),)))
    return [*moves[:start], Move("leave", tuple(code)), *moves[end:]]


def _places(body: Code) -> list[int]:
    """Where code can be cut: not between a statement and its `else`."""
    tails = ("else:", "elif ", "except", "finally:")
    return [at for at, line in enumerate(body) if not (isinstance(line, Block) and line.head.startswith(tails))] + [
        len(body)
    ]


def _failure(moves: list[Move]) -> Block:
    others = sum("MemoryError" in words(grouped((move,), False)) for move in moves)
    return Block(f"if step in {FAILING[min(others, 2)]}:", ("raise MemoryError",))


def _handling(scene: Scene) -> Code:
    """What a handler does: it goes on behind it, or leaves the iteration, the loop, the function or the program."""
    cleared: Code = (f"{scene.trained[0].optimizer}.zero_grad()",) if scene.chance(60) else ()
    left = scene.pick(("continue", "continue", "continue", "", "break", "return", 'raise RuntimeError("no memory")'))
    return (*cleared, *((left,) if left else ())) or ("pass",)
