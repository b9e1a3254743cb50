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
SCALES = "def run(loss, optimizer):\n    scaler = GradScaler()\n    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n"
LOWERS = "@torch.autocast('cuda')\ndef run(loss, optimizer):\n    loss.backward()\n"
ENTERS_A_REGION = "import torch\n\nstack.enter_context(torch.autocast('cuda'))\nloss.backward()\n"


def is_there(code: str) -> bool:
    return TrainingCode(file_of(code).analysis.program).is_there


def file_at(folder: Path, code: str) -> File:
    return File(Tree(Source("main.py", code, place=FileLocation(folder / "main.py", folder))), (2, 3))


def is_there_with(folder: Path, code: str, **modules: str) -> bool:
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return TrainingCode(file_at(folder, code).analysis.program).is_there


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


def uses_amp_with(folder: Path, helpers: str) -> bool:
    (folder / "helpers.py").write_text(f"import torch\nfrom torch.amp import GradScaler\n\n{helpers}")
    code = "from helpers import run\n\nrun(loss, optimizer)\nloss.backward()\n"
    return TrainingCode(file_at(folder, code).analysis.program).uses_amp


@pytest.mark.parametrize("helpers", [SCALES, LOWERS])
def test_amp_in_another_file_counts(tmp_path: Path, helpers: str) -> None:
    assert uses_amp_with(tmp_path, helpers)


def test_where_no_file_uses_amp_nothing_is_explored(tmp_path: Path) -> None:
    assert not uses_amp_with(tmp_path, BACKWARD)


def test_a_region_counts_that_a_stack_of_contexts_enters() -> None:
    assert TrainingCode(file_of(ENTERS_A_REGION).analysis.program).uses_amp


def test_a_region_that_is_switched_off_does_not_count() -> None:
    code = ENTERS_A_REGION.replace("'cuda'", "'cuda', enabled=False")
    assert not TrainingCode(file_of(code).analysis.program).uses_amp
