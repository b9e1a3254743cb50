"""Files that do not train, in themselves or in what they call, get no event graphs."""

from __future__ import annotations

from pathlib import Path

import pytest
from lowered import file_of

from amplint.hazards.training_code import TrainingCode
from amplint.rule import File
from amplint.source import FileLocation, Source
from amplint.syntax.tree import Tree

BACKWARD = "def run(loss, optimizer):\n    loss.backward()\n    optimizer.step()\n"
COMPUTES = "def run(loss, optimizer):\n    print(loss.grad)\n    optimizer.zero_grad()\n"
CALLS = "import torch\nfrom helpers import run\n\nwith torch.autocast('cuda'):\n    run(loss, optimizer)\n"
CALLS_THROUGH_ANOTHER = CALLS.replace("from helpers", "from middle")
CLOSURE = "from helpers import train_step\n\noptimizer.step(train_step)\n"
ENTERS = "import torch\nfrom helpers import Training\n\nwith torch.autocast('cuda'), Training(model) as training:\n    pass\n"
TRAINING = """
class Training:
    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.model(0).backward()

    def __exit__(self, *error):
        pass
"""
INHERITS = "from helpers import Loop\n\nclass Mine(Loop):\n    def train_step(self):\n        self.optimizer.step()\n"
LOOP = """
class Loop:
    def train(self):
        self.model(0).backward()
        self.train_step()

    def train_step(self):
        self.optimizer.step()
"""


def is_there(code: str) -> bool:
    return TrainingCode(file_of(code).analysis.program).is_there


def is_there_with(folder: Path, code: str, **modules: str) -> bool:
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    place = FileLocation(folder / "main.py", folder)
    file = File(Tree(Source("main.py", code, place=place)), (2, 3))
    return TrainingCode(file.analysis.program).is_there


@pytest.mark.parametrize(
    "code",
    [
        BACKWARD,
        "import torch\n\nscaler = torch.amp.GradScaler('cuda')\nscaler.step(optimizer)\n",
        "from torch.autograd import backward\n\nbackward(loss)\noptimizer.step()\n",
    ],
)
def test_what_trains_itself_is_training_code(code: str) -> None:
    assert is_there(code)


def test_a_schedule_that_steps_and_a_progress_bar_are_no_training_code() -> None:
    assert not is_there("latents = scheduler.step(noise, t, latents)\nbar.update()\n")


def test_what_other_files_do_counts(tmp_path: Path) -> None:
    assert is_there_with(tmp_path, CALLS, helpers=BACKWARD)


def test_what_other_files_only_compute_does_not_count(tmp_path: Path) -> None:
    assert not is_there_with(tmp_path, CALLS, helpers=COMPUTES)


def test_calls_are_followed_through_other_files(tmp_path: Path) -> None:
    middle = (
        "from helpers import run as train\n\ndef run(loss, optimizer):\n    train(loss, optimizer)\n    loss.grad\n"
    )
    assert is_there_with(tmp_path, CALLS_THROUGH_ANOTHER, middle=middle, helpers=BACKWARD)


def test_what_is_run_as_a_closure_counts(tmp_path: Path) -> None:
    assert is_there_with(tmp_path, CLOSURE, helpers=BACKWARD.replace("run", "train_step"))


def test_what_a_context_does_at_its_begin_counts(tmp_path: Path) -> None:
    assert is_there_with(tmp_path, ENTERS, helpers=TRAINING)


def test_what_an_inherited_loop_does_counts(tmp_path: Path) -> None:
    assert is_there_with(tmp_path, INHERITS, helpers=LOOP)
