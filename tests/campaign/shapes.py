"""The shapes that training code comes in. A new one needs one function with `@shape`: it rewrites the moves of an iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .code import Block, Code, Line, Move, grouped, joined, renamed, words
from .scene import Scene, new_scaler

Shape = Callable[[Scene, list[Move]], list[Move]]
SHAPES: list[Shape] = []
_LOCAL = ("batches", "batch", "step", "update_grad", "count", "accumulate", "losses")
FLAGS = ("use_clip", "late", "extra")


def shape(made: Shape) -> Shape:
    """File a shape."""
    SHAPES.append(made)
    return made


def is_plain(moves: Sequence[Move]) -> bool:
    """Whether moves can be put elsewhere: nothing in them leaves the loop, or depends on its conditions."""
    return bool(moves) and not any(move.kind in ("leave", "count", "asked", "ask") for move in moves)


def _mixed(moves: Sequence[Move], kind: str) -> Move:
    """One move for several."""
    plain = joined(moves, True) if any(move.plain is not None for move in moves) else None
    return Move(kind, grouped(moves, True), plain)


@shape
def under_flag(scene: Scene, moves: list[Move]) -> list[Move]:
    """Some moves depend on a flag; a flag may come up several times."""
    start, end = scene.span(len(moves))
    if any(move.kind in ("forward", "backward", "ask", "asked", "count") for move in moves[start:end]):
        return moves
    name = scene.flag(scene.pick(FLAGS))
    test = scene.pick((name, name, f"not {name}"))
    guarded = [replace(move, guards=(*move.guards, test)) for move in moves[start:end]]
    return [*moves[:start], *guarded, *moves[end:]]


@shape
def backward_in_region(scene: Scene, moves: list[Move]) -> list[Move]:
    """The region goes on over what follows the forward pass."""
    for at, move in enumerate(moves):
        if move.kind != "forward" or not isinstance(move.code[0], Block):
            continue
        end = scene.draw_int(at + 1, len(moves))
        taken = moves[at + 1 : end]
        region = move.code[0]
        again = {"context", "maybe_context"} & words((region.head,)) & words(joined(taken, False))
        if move.guards or not all(each.guards == () for each in taken) or again:  # an instance is not re-entrant
            return moves
        inside = Block(region.head, (*region.body, *move.code[1:], *modal(scene, taken)))
        return [*moves[:at], Move("forward", (inside,)), *moves[end:]]
    return moves


@shape
def leave_early(scene: Scene, moves: list[Move]) -> list[Move]:
    """`continue` for a loss that is not finite."""
    places = [at for at, move in enumerate(moves) if move.kind in ("backward", "unscale", "step") and not move.guards]
    if not places or not any(move.kind == "forward" for move in moves):
        return moves
    at = scene.pick(places)
    if not any(move.kind == "forward" for move in moves[:at]):
        return moves
    loss = scene.trained[0].loss
    body: list[Line] = [f"{scene.trained[0].optimizer}.zero_grad()"] if scene.chance(50) else []
    leave = Move("leave", (Block(f"if not torch.isfinite({loss}):", (*body, "continue")),))
    return [*moves[:at], leave, *moves[at:]]


@shape
def penalty(scene: Scene, moves: list[Move]) -> list[Move]:
    """A gradient becomes part of the loss: unscaled, scaled, or scaled and divided by the scale."""
    at = next((at for at, move in enumerate(moves) if move.kind == "forward" and not move.guards), None)
    one = scene.trained[0]
    if at is None or scene.slots.inside or "part" in words(moves[at].code) or scene.chance(50):
        return moves
    scaled = bool(one.scaler) and scene.scaling != "optional" and scene.chance(60)
    outputs = f"{one.scaler}.scale({one.loss})" if scaled else one.loss
    lines: list[Line] = [f"inner = torch.autograd.grad({outputs}, {one.model}.weight, create_graph=True)[0]"]
    if scaled and scene.chance(60):
        lines.append(f"inner = inner / {one.scaler}.get_scale()")
    lines.append(f"{one.loss} = {one.loss} + inner.norm()")
    return [*moves[:at], replace(moves[at], code=(*moves[at].code, *lines)), *moves[at + 1 :]]


@shape
def helper(scene: Scene, moves: list[Move]) -> list[Move]:
    """Some moves stand in a function, a nested function or a method."""
    start, end = scene.span(len(moves))
    taken = moves[start:end]
    if not is_plain(taken) or any(move.kind == "forward" for move in taken) or len({m.guards[:1] for m in taken}) > 1:
        return moves
    if scene.wrapped and not scene.in_class and "scaler" in words(grouped(taken, True)):
        return moves  # it would be a parameter, and is an attribute of the wrapper
    guards = taken[0].guards[:1]
    inner = [replace(move, guards=move.guards[1:]) for move in taken]
    call = put_aside(scene, modal(scene, inner))
    return [*moves[:start], Move("block", (call,), None, guards), *moves[end:]]


def put_aside(scene: Scene, body: Code, own: str = "") -> str:
    """Make a function of code, in which one name is its own; the call that stands in its place."""
    local = [name for name in (*_LOCAL, "scale_before", *(each.loss for each in scene.trained)) if name != own]
    objects = {name for each in scene.trained for name in (each.model, each.optimizer, each.scaler)}
    used = words(body)
    name = f"do_{len(scene.helpers)}"
    passed = [each for each in local if each in used]
    shared = sorted(each for each in used & (objects | {"scheduler", "loss_scaler"} | set(scene.flags)) if each)
    if scene.in_class:
        scene.helpers.append(Block(f"def {name}({', '.join(('self', *passed))}):", body))
        return f"self.{name}({', '.join(passed)})"
    if calls_nested(scene, body) or scene.chance(30):
        scene.setup.append(Block(f"def {name}({', '.join(passed)}):", body))
        scene.helpers.append("")
        return f"{name}({', '.join(passed)})"
    given = [*shared, *passed]
    meant = {each: f"the_{each}" for each in shared} if scene.chance(40) else {}
    params = [meant.get(each, each) for each in given]
    scene.helpers.append(Block(f"def {name}({', '.join(params)}):", renamed(body, meant)))
    return f"{name}({', '.join(given)})"


@shape
def wrapper(scene: Scene, moves: list[Move]) -> list[Move]:
    """The scaler in a class of the author's own, which is called with the loss."""
    start = next((at for at, move in enumerate(moves) if move.kind == "backward"), len(moves))
    end = max((at + 1 for at, move in enumerate(moves) if move.kind == "update"), default=0)
    taken = moves[start:end]
    if (
        scene.wrapped
        or len(scene.trained) > 1
        or scene.scaling != "always"
        or not is_plain(taken)
        or scene.slots.scaler_in
    ):
        return moves
    if taken[0].guards or any(move.kind == "forward" for move in taken):
        return moves
    if calls_nested(scene, grouped(taken, True)) or "scaler" in words(tuple(scene.helpers)):
        return moves
    scene.wrapped = True
    trained = scene.trained[0]
    body = grouped(taken, scene.chance(60))
    used = [
        name
        for name in (*_LOCAL, "scale_before", trained.loss, trained.optimizer, trained.model, "scheduler")
        if name in words(body)
    ]
    used += [name for name in scene.flags if name in words(body)]
    init = Block("def __init__(self):", (f"self.scaler = {new_scaler(scene)}",))
    call = Block(f"def __call__({', '.join(('self', *used))}):", renamed(body, {"scaler": "self.scaler"}))
    scene.functions.append(Block("class LossScaler:", (init, "", call)))
    return [*moves[:start], Move("block", (f"loss_scaler({', '.join(used)})",)), *moves[end:]]


@shape
def over_optimizers(scene: Scene, moves: list[Move]) -> list[Move]:
    """The same move for all optimizers, in a loop over them."""
    first, *others = scene.trained
    for at, (move, following) in enumerate(zip(moves, moves[1:])):
        if not others or move.kind != following.kind or move.guards != following.guards:
            continue
        names = {first.optimizer: "each", others[0].optimizer: "each"}
        code = renamed(move.code, names)
        if code == move.code or code != renamed(following.code, names):
            continue
        plain = None if move.plain is None else renamed(move.plain, names)
        source = f"({first.optimizer}, {others[0].optimizer})"
        if scene.chance(50):
            scene.setup.append(f"optimizers = [{first.optimizer}, {others[0].optimizer}]")
            source = "optimizers"
        loop = Block(f"for each in {source}:", code)
        other: Code | None = None if plain is None else ((Block(f"for each in {source}:", plain),) if plain else ())
        return [*moves[:at], Move(move.kind, (loop,), other, move.guards), *moves[at + 2 :]]
    return moves


@shape
def checked_by_hand(scene: Scene, moves: list[Move]) -> list[Move]:
    """A plain step only on gradients that are finite."""
    places = [at for at, move in enumerate(moves) if move.kind == "step" and move.code == move.plain]
    if not places or len(scene.trained) > 1:
        return moves
    at = scene.pick(places)
    grads = f"parameter.grad is None or torch.isfinite(parameter.grad).all() for parameter in {scene.trained[0].model}"
    test = Block(f"if all({grads}.parameters()):", moves[at].code)
    return [*moves[:at], replace(moves[at], code=(test,), plain=None), *moves[at + 1 :]]


def calls_nested(scene: Scene, body: Code) -> bool:
    """Whether code calls a function that is nested in another, so that it can stand nowhere else."""
    nested = {line.head.split("(")[0].removeprefix("def ") for line in scene.setup if isinstance(line, Block)}
    return bool(nested & words(body))


def modal(scene: Scene, moves: Sequence[Move]) -> Code:
    """The code of moves; where the scaler is optional, its moves stand in branches."""
    if scene.scaling != "optional":
        return grouped(moves, scene.chance(60))
    if scene.chance(40) and all(not move.guards for move in moves) and any(move.plain is not None for move in moves):
        return _one_branch(scene, moves)
    lowered = [
        move if move.plain is None else replace(move, code=_branch(scene, move.code, move.plain), plain=None)
        for move in moves
    ]
    return grouped(lowered, scene.chance(60))


def _one_branch(scene: Scene, moves: Sequence[Move]) -> Code:
    """One `if` from the first to the last move of the scaler."""
    places = [at for at, move in enumerate(moves) if move.plain is not None]
    start, end = places[0], places[-1] + 1
    between = moves[start:end]
    branch = _branch(scene, joined(between, False), joined(between, True))
    return (*joined(moves[:start], False), *branch, *joined(moves[end:], False))


def _branch(scene: Scene, scaled: Code, plain: Code) -> Code:
    test, negated = scene.pick(
        (
            ("amp", "not amp"),
            (f"{scene.scalers[0]} is not None", f"{scene.scalers[0]} is None"),
            (scene.scalers[0], f"not {scene.scalers[0]}"),
        )
    )
    if not plain:
        return (Block(f"if {test}:", scaled),)
    if scene.chance(25):
        return (Block(f"if {negated}:", plain), Block("else:", scaled))
    return (Block(f"if {test}:", scaled), Block("else:", plain))
