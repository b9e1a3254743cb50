"""Long loops: many options, many statements, helpers that are called many times."""

from __future__ import annotations

from dataclasses import replace

from .code import Block, Code, Line, Move, grouped, rendered, words
from .scene import Scene
from .shapes import calls_nested, is_plain, modal, put_aside, shape

OPTIONS = tuple(f"option_{number}" for number in range(12))
_STATEMENTS = 300
_CALLS = 5


@shape
def many_options(scene: Scene, moves: list[Move]) -> list[Move]:
    """Twelve options that do not depend on each other: a term of the loss, a record, or a move that is made only with it."""
    if OPTIONS[0] in scene.flags or _is_planted(scene):
        return moves
    moves = list(moves)
    for option in map(scene.flag, OPTIONS):
        at = scene.draw_int(0, len(moves) - 1)
        move = moves[at]
        if move.kind == "forward" and not move.guards:
            moves[at] = replace(move, code=(*move.code, *_term(scene, move, option)))
        elif move.kind == "backward" and not move.guards:
            moves.insert(at + 1, _auxiliary(scene, option))
        elif is_plain((move,)) and move.kind not in ("forward", "backward", "block") and scene.chance(30):
            moves[at] = replace(move, guards=(*move.guards, scene.pick((option, f"not {option}"))))
        else:
            moves.insert(at, Move("record", ("losses.append(step)",), None, (option,)))
    return moves


def _is_planted(scene: Scene) -> bool:
    """Whether the program is for a plant: it is run with every setting, and may name what stands before the loop."""
    return scene.device != "cpu"


def _term(scene: Scene, move: Move, option: str) -> Code:
    loss = next((each.loss for each in scene.trained if each.loss in words(move.code)), "")
    return (Block(f"if {option}:", (f"{loss} = {loss} + 0.1 * {loss}.abs()",)),) if loss else ()


def _auxiliary(scene: Scene, option: str) -> Move:
    """A loss of its own, with a backward pass of its own."""
    one = scene.trained[0]
    loss = f"{one.model}(batch).abs().mean()"
    plain = (f"{loss}.backward()",)
    code = (f"{one.scaler}.scale({loss}).backward()",) if one.scaler else plain
    return Move("auxiliary", code, plain, (option,))


@shape
def many_statements(scene: Scene, moves: list[Move]) -> list[Move]:
    """Hundreds of statements between the moves, some of them under conditions of their own."""
    if any(move.kind == "statements" for move in moves):
        return moves
    parts = scene.draw_int(1, 3)
    for part in range(parts):
        at = scene.draw_int(0, len(moves))
        moves = [*moves[:at], Move("statements", tuple(map(_statement, range(part, _STATEMENTS, parts)))), *moves[at:]]
    return moves


def _statement(number: int) -> Line:
    if number % 10 < 9:
        return f"value_{number} = batch.sum() * {number}"
    return Block(f"if step % {number + 11} == 12:", (f"losses.append({number})",))


@shape
def called_often(scene: Scene, moves: list[Move]) -> list[Move]:
    """A helper that is called five times: a forward pass with its backward pass, or other moves."""
    start, end = scene.span(len(moves))
    if scene.chance(60):
        start = next((at for at, move in enumerate(moves) if move.kind == "forward" and not move.guards), start)
        end = start + 2
    taken = moves[start:end]
    passes = [move.kind for move in taken if move.kind in ("forward", "backward")]
    if not is_plain(taken) or any(move.guards for move in taken) or passes not in ([], ["forward", "backward"]):
        return moves
    body = modal(scene, taken)
    hidden = scene.wrapped and not scene.in_class and "scaler" in words(grouped(taken, True))
    local = {"context", "maybe_context", "autocast"} & words(body)
    if hidden or local or calls_nested(scene, body) or (passes and _is_planted(scene)):
        return moves
    made = [each.loss for each in scene.trained if passes and f"{each.loss} = " in rendered(body)]
    call = put_aside(scene, (*body, *(f"return {loss}" for loss in made)), *made)
    line = f"{made[0]} = {call}" if made else call
    return [*moves[:start], Move("forward" if made else "block", (line,) * _CALLS), *moves[end:]]
