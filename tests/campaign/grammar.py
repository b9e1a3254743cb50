"""Random training programs, in the shapes and with the mistakes of real ones."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from .code import Block, Code, Line, Move, renamed, rendered, words
from .mistakes import MISTAKES
from .moves import textbook
from .scene import Scene, constructions, scenes
from .shapes import SHAPES, modal
from .witnesses import Program


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """A program that defines `train(batches, <flags>)`, and runs on a CPU in a few milliseconds."""
    scene = scenes(draw)
    moves = textbook(scene)
    if scene.accumulation > 1:
        moves = accumulated(scene, moves)
    for _ in range(scene.pick((0, 0, 1, 1, 2))):
        moves = scene.pick(MISTAKES)(scene, moves)
    for _ in range(scene.pick((0, 1, 1, 2, 3))):
        moves = scene.pick(SHAPES)(scene, moves)
    return Program(_text(scene, modal(scene, moves)), tuple(scene.flags))


def accumulated(scene: Scene, moves: list[Move]) -> list[Move]:
    """The moves of an iteration of which only each Nth steps."""
    count = scene.accumulation
    test = scene.pick(
        (
            f"(step + 1) % {count} == 0",
            f"(step + 1) % {count} == 0 or step + 1 == len(batches)",
            "update_grad",
            "count == 0",
        )
    )
    first = max(at for at, move in enumerate(moves) if move.kind == "backward") + 1
    before, after = moves[:first], moves[first:]
    match test:
        case "update_grad":
            before.insert(0, Move("asked", (f"update_grad = (step + 1) % {count} == 0",)))
        case "count == 0":
            before.insert(0, Move("count", (f"count = (count + 1) % {count}",)))
    if test.startswith("(") and "or" not in test and scene.chance(30):
        leave = Move("leave", (Block(f"if (step + 1) % {count} != 0:", ("continue",)),))
        return [*before, leave, *after]
    return [*before, *(replace(move, guards=(test, *move.guards)) for move in after)]


def _text(scene: Scene, body: Code) -> str:
    loop = _loop(scene, body)
    made = constructions(scene)
    signature = ", ".join(("batches", *scene.flags))
    if not scene.in_class:
        return _module(*scene.helpers, Block(f"def train({signature}):", (*made, *loop)))
    kept = {name for each in scene.trained for name in (each.model, each.optimizer, each.scaler)}
    own = {name: f"self.{name}" for name in sorted(kept | {"scheduler"}) if name}
    flags = {name: f"self.{name}" for name in scene.flags}
    keep: Code = tuple(f"{flags[name]} = {name}" for name in scene.flags)
    init = Block(f"def __init__({', '.join(('self', *scene.flags))}):", (*keep, *renamed(made, own)))
    fit = Block("def fit(self, batches):", renamed(loop, own | flags))
    methods = [init, fit, *renamed(tuple(scene.helpers), own | flags)]
    trainer = Block("class Trainer:", tuple(line for each in methods for line in (each, ""))[:-1])
    entry = Block(f"def train({signature}):", (f"Trainer({', '.join(scene.flags)}).fit(batches)",))
    return _module(trainer, entry)


def _loop(scene: Scene, body: Code) -> Code:
    """The loops around an iteration."""
    steps = Block("for step, batch in enumerate(batches):", body)
    start: Code = ("count = 0",) if "count" in words(body) else ()
    if scene.scheduled != "epoch":
        return (*start, steps)
    return (*start, Block("for epoch in range(2):", (steps, "scheduler.step()")))


def _module(*statements: Line) -> str:
    return "import torch\n" + "".join(f"\n\n{rendered((each,))}" for each in statements)
