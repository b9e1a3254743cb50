"""Random training programs, in the shapes and with the mistakes of real ones."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from . import handlers, long_loops  # noqa: F401  # each files its shapes
from .code import Block, Code, Line, Move, grouped, renamed, rendered, words
from .mistakes import MISTAKES
from .moves import textbook
from .program import Program
from .regions import autocast
from .scene import Scene, constructions, new_scaler, scenes
from .shapes import SHAPES, modal


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program that defines `train(batches, <flags>)`, and runs on a CPU in a few milliseconds."""
    return composed(scenes(draw), mistakes=True)


def composed(scene: Scene, mistakes: bool) -> Program:
    """The program of a scene, with mistakes or without."""
    moves = textbook(scene)
    if scene.slots.first:
        moves.insert(0, Move("ask", tuple(scene.slots.first)))
    if scene.slots.edit:
        moves = scene.slots.edit(moves)
    if scene.accumulation > 1:
        way = scene.pick(("counted",) * 7 + ("parts",) * 2 + ("nested",))
        moves = in_parts(scene, moves) if way != "counted" else moves
        moves = accumulated(scene, moves) if way != "parts" else moves
    for _ in range(scene.pick((0, 1, 1, 2, 3)) if mistakes else 0):
        moves = scene.pick(MISTAKES)(scene, moves)
    moves.sort(key=lambda move: move.kind not in ("ask", "asked", "count"))  # what others ask about comes first
    for _ in range(scene.pick((0, 1, 1, 2, 3))):
        moves = scene.pick(SHAPES)(scene, moves)
    body = leaving(moves) if scene.scaling == "optional" and scene.chance(15) else modal(scene, moves)
    return Program(_text(scene, body), tuple(scene.flags))


def leaving(moves: list[Move]) -> Code:
    """The plain path first, which ends in `continue`, and the scaled one behind it."""
    plain = [move if move.plain is None else replace(move, code=move.plain) for move in moves]
    return (Block("if not amp:", (*grouped(plain, True), "continue")), *grouped(moves, True))


def in_parts(scene: Scene, moves: list[Move]) -> list[Move]:
    """An iteration that goes over its batch in parts."""
    passes = [at for at, move in enumerate(moves) if move.kind in ("forward", "backward")]
    first, last = passes[0], passes[-1] + 1
    if passes != list(range(first, last)):
        return moves
    inside = renamed(modal(scene, moves[first:last]), {"batch": "part"})
    loop = Move("forward", (Block(f"for part in batch.chunk({scene.accumulation}):", inside),))
    return [*moves[:first], loop, *moves[last:]]


def accumulated(scene: Scene, moves: list[Move]) -> list[Move]:
    """The moves of an iteration of which only each Nth steps."""
    count = scene.accumulation
    test = scene.pick(
        (
            f"(step + 1) % {count} == 0",
            f"(step + 1) % {count} == 0 or step + 1 == len(batches)",
            "update_grad",
            "count == 0",
            "(step + 1) % accumulate == 0",
        )
    )
    first = max(at for at, move in enumerate(moves) if move.kind in ("forward", "backward")) + 1
    before, after = moves[:first], moves[first:]
    match test:
        case "update_grad":
            before.insert(0, Move("asked", (f"update_grad = (step + 1) % {count} == 0",)))
        case "count == 0":
            before.insert(0, Move("count", (f"count = (count + 1) % {count}",)))
        case "(step + 1) % accumulate == 0":
            scene.setup.append(f"accumulate = {count} if {scene.flag('extra')} else 1")
    if test.startswith("(") and "or" not in test and scene.chance(30):
        leave = Move("leave", (Block(f"if {test.replace('==', '!=')}:", ("continue",)),))
        return [*before, leave, *after]
    return [*before, *(replace(move, guards=(test, *move.guards)) for move in after)]


def _text(scene: Scene, body: Code) -> str:
    loop = _loop(scene, body)
    if scene.wrapped:
        loop = renamed(loop, {"scaler": "loss_scaler.scaler"})
        scene.helpers = list(renamed(tuple(scene.helpers), {"scaler": "loss_scaler.scaler"}))
    made = constructions(scene)
    slots = scene.slots
    signature = ", ".join(("batches", *scene.flags))
    if not scene.in_class:
        if slots.scaler_in == "function" or (not slots.folds and not slots.last and scene.chance(25)):
            return _by_epoch_function(scene, made, loop)
        loop = (*scene.setup, *loop)
        if slots.folds:
            made, loop = (), (Block("for fold in range(2):", (*made, *loop)),)
        return _module(*scene.functions, *scene.helpers, Block(f"def train({signature}):", (*made, *loop)))
    kept = {name for each in scene.trained for name in (each.model, each.optimizer, each.scaler)}
    own = {name: f"self.{name}" for name in sorted(kept | {"scheduler", "loss_scaler"}) if name}
    flags = {name: f"self.{name}" for name in scene.flags}
    keep: Code = tuple(f"{flags[name]} = {name}" for name in scene.flags)
    init = Block(f"def __init__({', '.join(('self', *scene.flags))}):", (*keep, *renamed(made, own)))
    fit = Block("def fit(self, batches):", renamed((*scene.setup, *loop), own | flags))
    methods = [init, fit, *renamed(tuple(scene.helpers), own | flags)]
    trainer = Block("class Trainer:", tuple(line for each in methods for line in (each, ""))[:-1])
    entry = Block(f"def train({signature}):", (f"Trainer({', '.join(scene.flags)}).fit(batches)",))
    return _module(*scene.functions, trainer, entry)


def _by_epoch_function(scene: Scene, made: Code, loop: Code) -> str:
    """The loop in a function that gets all objects as arguments."""
    loop = (*scene.setup, *loop)
    slots = scene.slots
    if slots.scaler_in == "function":
        loop = (*(f"{scaler} = {new_scaler(scene)}" for scaler in scene.scalers), *loop)
    objects = [name for each in scene.trained for name in (each.model, each.optimizer, each.scaler)]
    objects = [
        name
        for name in dict.fromkeys((*objects, "loss_scaler", "scheduler", *scene.flags))
        if name in words(loop) and not (slots.scaler_in and name in scene.scalers)
    ]
    given = ", ".join((*objects, "batches"))
    epoch = Block(f"def train_one_epoch({given}):", loop)
    call: Line = f"train_one_epoch({given})"
    if slots.scaler_in == "function" and scene.chance(60):
        call = Block("for epoch in range(2):", (call,))
    entry = Block(f"def train({', '.join(('batches', *scene.flags))}):", (*made, call))
    return _module(*scene.functions, *scene.helpers, epoch, entry)


def _loop(scene: Scene, body: Code) -> Code:
    """The loops around an iteration."""
    steps = Block("for step, batch in enumerate(batches):", body)
    if not scene.slots.around and scene.chance(5) and scene.scaling != "absent":
        steps = Block(f"with {autocast(scene)}:", (steps,))
    used = words((*body, *scene.helpers, *scene.functions))
    start: Code = tuple(line for line in ("count = 0", "losses = []") if line.split()[0] in used)
    slots = scene.slots
    if scene.scheduled != "epoch" and not slots.epoch:
        return (*start, steps, *slots.last)
    moved = ("scheduler.step()",) if scene.scheduled == "epoch" else ()
    return (*start, Block("for epoch in range(2):", (*slots.epoch, steps, *moved)), *slots.last)


def _module(*statements: Line) -> str:
    text = ""
    for each in (each for each in statements if each):
        behind_decorator = text.rpartition("\n@")[2].count("\n") == 1 and "\n@" in text
        text += f"{'' if behind_decorator else chr(10) * 2}{rendered((each,))}"
    imports = [name for name in ("contextlib", "copy", "functools", "io", "math") if f"{name}." in text]
    return "".join(f"import {name}\n" for name in (*imports, "torch")) + text
