"""What following paths has shown is remembered for the graphs that it was shown for, wherever these stand in a text."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import pytest
from lowered import file_of

from amplint.diagnostics import Range
from amplint.model.events import Event
from amplint.system.memory import Kept, Memory, remembering

FIXTURES = Path(__file__).parents[2] / "fixtures"
FLAGGED = sorted(FIXTURES.glob("amp1*/flagged_*.py"))[5::16]
"""Some of the files with hazards of every kind."""

TRAIN = """\
import torch
from torch.nn.utils import clip_grad_norm_

def options(parser):
    parser.add_argument("--epochs", type=int, default=100)

def train(model, loader, optimizer, scheduler):
    scaler = torch.amp.GradScaler("cuda")
    for step, batch in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss / 2).backward()
        if step % 50 == 0:
            print(loss.item())
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
"""


class Counting(Memory):
    """A memory that counts what it is given to keep."""

    def __init__(self) -> None:
        super().__init__({Kept.EXPLORATIONS: 1_000_000})
        self.counted = 0

    def keep(self, kind: Kept, key: Hashable, answer: object, weight: int) -> None:
        super().keep(kind, key, answer, weight)
        self.counted += kind is Kept.EXPLORATIONS


def shown(code: str) -> list[tuple[object, ...]]:
    """All that rules ask of the hazards of a text, with places as they stand in it."""
    file = file_of(code)

    def at(node: object) -> Range | None:
        return file.range(node) if node is not None else None  # type: ignore[arg-type]

    return [
        (
            found.hazard.kind,
            at(found.node),
            sorted((label, at(node)) for label, node in found.related.items()),
            found.scaler_name,
            found.hazard.optimizer_name,
            found.hazard.details,
            [
                (type(event).__name__, at(file.analysis.program.places[event.site]))
                for event in found.shown.events((Event,))
            ],
            found.shown.raising,
            file.partly,
        )
        for found in file.analysis.hazards
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", "# a comment\n"),
        ("    for step", "    verbose = True\n    for step"),
        ("default=100)", 'default=100)\n    parser.add_argument("--seed", type=int)'),
        ("loss / 2", "loss / 4"),
        ("print(loss.item())", "print(loss.item())\n            print(step)"),
        ("def train", "def helper(x):\n    y = x + 1\n    return y\n\n\ndef train"),
    ],
)
def test_an_edit_that_changes_no_slice_follows_no_path_again(old: str, new: str) -> None:
    edited = TRAIN.replace(old, new, 1)
    assert edited != TRAIN
    memory = Counting()
    with remembering(memory):
        before, followed = shown(TRAIN), memory.counted
        after = shown(edited)
    assert followed and memory.counted == followed
    assert before == shown(TRAIN) and after == shown(edited)
    assert len(after) == 2


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("        clip_grad", "        scaler.unscale_(optimizer)\n        clip_grad", 1),
        ("        scaler.update()\n", "", 3),
        ("        scheduler.step()\n", "", 1),
        ("parameters(), 1.0)", "parameters(), 2.0)", 2),
    ],
)
def test_an_edit_that_changes_what_happens_is_followed(old: str, new: str, left: int) -> None:
    edited = TRAIN.replace(old, new, 1)
    memory = Counting()
    with remembering(memory):
        shown(TRAIN)
        followed = memory.counted
        after = shown(edited)
        assert memory.counted > followed
        assert shown(TRAIN) != after
    assert after == shown(edited)
    assert len(after) == left


@pytest.mark.parametrize("path", FLAGGED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_is_remembered_is_what_was_found(path: Path) -> None:
    text = path.read_text()
    moved = (
        f'"""Moved."""\nimport os\n\nWHERE = os.environ.get("WHERE")\n\n\ndef where():\n    return WHERE\n\n\n{text}'
    )
    plain = shown(text), shown(moved)
    with remembering(Counting()):
        assert (shown(text), shown(moved), shown(text)) == (*plain, plain[0])


def test_the_oldest_is_let_go_of_and_what_was_asked_for_stays() -> None:
    memory = Memory({Kept.EXPLORATIONS: 3})
    for key in ("a", "b", "c"):
        memory.keep(Kept.EXPLORATIONS, key, key.upper(), 1)
    assert memory.known(Kept.EXPLORATIONS, "a") == "A"
    memory.keep(Kept.EXPLORATIONS, "d", "D", 2)
    assert [memory.known(Kept.EXPLORATIONS, key) for key in "abcd"] == ["A", None, None, "D"]
    memory.keep(Kept.TREES, "a", "tree", 1)
    assert memory.known(Kept.TREES, "a") is None


def test_an_edit_of_one_function_follows_no_path_of_another() -> None:
    other = TRAIN[TRAIN.index("def train") :].replace("def train", "def tune")
    memory = Counting()
    with remembering(memory):
        shown(TRAIN + other)
        followed = memory.counted
        after = shown(TRAIN + other.replace("        scheduler.step()\n", ""))
    assert followed == 2 and memory.counted == followed + 1
    assert len(after) == 3


@pytest.mark.parametrize("new", ["scaler.unscale_(optimizer)", "optimizer.step()"])
def test_what_any_function_does_to_gradients_is_part_of_what_a_memory_goes_by(new: str) -> None:
    other = TRAIN[TRAIN.index("def train") :].replace("def train", "def tune")
    edited = TRAIN + other.replace("        optimizer.zero_grad()", f"        {new}", 1)
    memory = Counting()
    with remembering(memory):
        shown(TRAIN + other)
        followed = memory.counted
        after = shown(edited)
    assert followed == 2 and memory.counted == followed + 2
    assert after == shown(edited)
