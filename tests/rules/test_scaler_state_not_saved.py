"""AMP114 where the checkpoint is put together in another file than the one that trains."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import check, codes, codes_and_rows, project

TRAIN = """
import torch
{imports}

def train(model, loader, path, names):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    {before}
    for epoch in range(9):
        for data, target in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(data), target)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        {save}
"""
CALL = 17
"""The row of `save`."""
PLAIN = """
import torch

def save(path, model, optimizer):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
"""


def training(imports: str, save: str, before: str = "pass") -> str:
    """A training loop that saves after each epoch."""
    return TRAIN.format(imports=imports, save=save, before=before)


def test_a_file_that_is_called_like_the_package_around_it(tmp_path: Path) -> None:
    loop = training("from train import files", "files.save(path, model, optimizer)")
    root = project(tmp_path, train_files=PLAIN, train_train=loop)
    assert codes_and_rows(root, "train/train.py") == [("AMP114", CALL)]
    assert codes(root, "train/files.py") == []


@pytest.mark.parametrize("name", ["log_best_model", "store_model", "write_last_state"])
def test_a_helper_of_another_file_that_writes_the_model_down(tmp_path: Path, name: str) -> None:
    files = PLAIN.replace("def save", f"def {name}")
    loop = training(f"from files import {name}", f"{name}(path, model, optimizer)")
    assert codes_and_rows(project(tmp_path, files=files, train=loop), "train.py") == [("AMP114", CALL)]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ('getattr(args, "plain", False)', [("AMP114", CALL)]),
        ('not getattr(args, "deepspeed", False)', [("AMP114", CALL)]),
        ("getattr(args, args.field)", []),
        ('getattr(scaler, "state_dict", None)', []),
    ],
)
def test_a_helper_asks_an_option_and_does_nothing_with_the_scaler(
    tmp_path: Path, asked: str, expected: list[tuple[str, int]]
) -> None:
    """What `getattr` asks for by a literal is no argument of another name."""
    files = PLAIN.replace("optimizer):", f"optimizer, args, scaler):\n    if {asked}:\n        print(path)")
    loop = training("from files import save", "save(path, model, optimizer, names, scaler)")
    assert codes_and_rows(project(tmp_path, files=files, train=loop), "train.py") == expected


FILES = """
import torch

def write(path, model, optimizer, **extra):
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    state.update(extra)
    torch.save(state, path)

def save(folder, model, optimizer, **extra):
    save_twice(folder, model, optimizer, **extra)

def save_twice(folder, model, optimizer, **extra):
    save_as(folder + "/last.pt", model, optimizer, **extra)
    save_as(folder + "/best.pt", model, optimizer, **extra)

def save_as(path, model, optimizer, **extra):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), **extra}, path)

def save_all(path, **objects):
    torch.save({name: each.state_dict() for name, each in objects.items()}, path)

class Saver:
    def __init__(self, path, model, optimizer=None, scaler=None):
        self.path, self.model, self.optimizer = path, model, optimizer

    def save(self, epoch):
        state = {"model": self.model.state_dict(), "epoch": epoch}
        if self.optimizer is not None:
            state["optimizer"] = self.optimizer.state_dict()
        torch.save(state, self.path)

class Quick(Saver):
    pass

class Hooked(Saver):
    def __init__(self, path, model, optimizer, scaler):
        self.path, self.model, self.optimizer = path, model, optimizer
        self.register(scaler)

class Whole(Saver):
    def save(self, epoch, scaler=None):
        self.dump({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, scaler)

    def dump(self, state, scaler):
        if scaler is not None:
            state["scaler"] = scaler.state_dict()
        torch.save(state, self.path)
"""


@pytest.mark.parametrize(
    ("before", "save"),
    [
        ("pass", "files.save(path, model, optimizer, epoch=epoch)"),
        ("pass", "files.save_all(path, model=model, optimizer=optimizer)"),
        ("pass", "files.save(path, model, optimizer, **{'epoch': epoch})"),
        ("saver = files.Saver(path, model, optimizer)", "saver.save(epoch)"),
        ("saver = files.Quick(path, model, optimizer=optimizer)", "saver.save(epoch)"),
        ("saver = files.Saver(path, model, optimizer, scaler)", "saver.save(epoch)"),
        ("saver = files.Quick(path, model, optimizer) if names else None", "saver.save(epoch)"),
        ("saver = files.Whole(path, model, optimizer)", "saver.save(epoch)"),
        ("kept = optimizer if names else None", "files.save_as(path, model, kept)"),
        ("pass", "files.save_as(path, model, optimizer if names else None)"),
    ],
)
def test_a_helper_of_another_file_gets_no_scaler(tmp_path: Path, before: str, save: str) -> None:
    root = project(tmp_path, files=FILES, train=training("import files", save, before))
    assert codes_and_rows(root, "train.py") == [("AMP114", CALL)]
    assert codes(root, "files.py") == []


@pytest.mark.parametrize(("kept", "lacks"), [("optimizer", True), ("other", False)])
def test_a_helper_gets_an_optimizer_that_its_caller_was_given_or_none(tmp_path: Path, kept: str, lacks: bool) -> None:
    given = training("import files", "files.save_as(path, model, kept)", f"kept = {kept} if names else None")
    given = given.replace("path, names)", "path, names, optimizer, other)").replace("optimizer = torch", "loss = torch")
    root = project(tmp_path, files=FILES, train=given)
    assert codes_and_rows(root, "train.py") == [("AMP114", CALL)] * lacks


@pytest.mark.parametrize(
    ("before", "save"),
    [
        ("pass", "files.save(path, model, optimizer, scaler=scaler.state_dict())"),
        ("pass", "files.save_all(path, model=model, optimizer=optimizer, gs=scaler)"),
        ("more = {'gs': scaler.state_dict()}", "files.save(path, model, optimizer, **more)"),
        ("saver = files.Saver(path, model)", "saver.save(epoch)"),
        ("saver = files.Saver(path, model, optimizer); saver.add(scaler)", "saver.save(epoch)"),
        ("saver = files.Hooked(path, model, optimizer, scaler)", "saver.save(epoch)"),
        ("saver = files.Whole(path, model, optimizer)", "saver.save(epoch, scaler)"),
        ("other = torch.optim.SGD(model.parameters())", "files.save(path, model, other)"),
    ],
)
def test_a_helper_of_another_file_that_gets_one_or_saves_no_optimizer(tmp_path: Path, before: str, save: str) -> None:
    root = project(tmp_path, files=FILES, train=training("import files", save, before))
    assert codes_and_rows(root, "train.py") == []


@pytest.mark.parametrize(
    ("before", "save"),
    [
        ("kept = optimizer if names else None", "files.save(path, model, kept)"),
        ("pass", "files.save(path, model, optimizer if names else None)"),
        ("pass", "files.save(path, model, optimizer=None if names else optimizer)"),
    ],
)
def test_an_option_says_whether_the_optimizer_is_saved(tmp_path: Path, before: str, save: str) -> None:
    root = project(tmp_path, files=PLAIN, train=training("import files", save, before))
    assert codes_and_rows(root, "train.py") == [("AMP114", CALL)]


def test_something_else_is_chosen(tmp_path: Path) -> None:
    save = "files.save(path, model, names if path else None)"
    root = project(tmp_path, files=PLAIN, train=training("import files", save))
    assert codes_and_rows(root, "train.py") == []


MANAGER = """
import torch

class CheckpointManager:
    def __init__(self, model, optimizer, folder, more=None):
        self.model, self.optimizer, self.folder, self.more = model, optimizer, folder, more or {}

    def step(self, iteration):
        torch.save(self.gather(iteration), f"{self.folder}/{iteration}.pt")

    def gather(self, iteration):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "iteration": iteration}

class AllManager(CheckpointManager):
    def gather(self, iteration):
        more = {name: each.state_dict() for name, each in self.more.items()}
        return {**super().gather(iteration), **more}
"""
MADE = 8
"""The row of `before`."""


@pytest.mark.parametrize(
    ("made", "rows"),
    [
        ("CheckpointManager(model, optimizer, path)", [("AMP114", MADE)]),
        ("AllManager(model, optimizer, path, {'scaler': scaler})", []),
    ],
)
def test_an_object_saves_in_a_method_of_any_name(tmp_path: Path, made: str, rows: list[tuple[str, int]]) -> None:
    loop = training("import keep", "manager.step(epoch)", f"manager = keep.{made}")
    root = project(tmp_path, keep=MANAGER, train=loop)
    assert codes_and_rows(root, "train.py") == rows
    assert codes(root, "keep.py") == []


SAVES_ALL = 'torch.save({"optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}, path)'
RESUMES = """
def resume(state, optimizer, *others):
    if state["optimizer"] is not None:
        optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
"""
RESUME = 8
"""The row of what stands before the loop."""


@pytest.mark.parametrize(
    ("before", "helper", "lacks"),
    [
        ("resume(torch.load(path), optimizer)", RESUMES, True),
        ("resume(torch.load(path), optimizer=optimizer)", RESUMES, True),
        ("resume(torch.load(path), optimizer, scaler)", RESUMES, False),
        ("resume(torch.load(path), optimizer, {'scaler': scaler})", RESUMES, False),
        ("resume(torch.load(path), optimizer, [scaler])", RESUMES, False),
        ("resume(torch.load(path), optimizer); scaler.load_state_dict(torch.load(path)['scaler'])", RESUMES, False),
        ("resume(torch.load(path), torch.optim.SGD(model.parameters()))", RESUMES, False),
        ("resume(torch.load(path), optimizer)", RESUMES.replace('["optimizer"])', '["other"])'), False),
        ("resume(torch.load(path), optimizer)", RESUMES.replace("return", "state['scaler'] and 0; return"), False),
        ("resume(torch.load(path), optimizer)", RESUMES.replace("*others", "scaler=None"), False),
    ],
)
def test_a_helper_of_another_file_restores(tmp_path: Path, before: str, helper: str, lacks: bool) -> None:
    root = project(tmp_path, train=training("from files import resume", SAVES_ALL, before), files=helper)
    assert codes_and_rows(root, "train.py") == ([("AMP114", RESUME)] if lacks else [])


def test_what_the_fix_leaves_to_another_file_is_told_there(tmp_path: Path) -> None:
    loop = training("from files import resume", SAVES_ALL, "resume(torch.load(path), optimizer)")
    root = project(tmp_path, train=loop, files=RESUMES)
    (finding,) = check(root, "train.py").diagnostics
    assert finding.message == "The state of `scaler` is saved but never restored"
    assert (finding.fix, finding.no_fix) == (None, "the function that loads is in another file")


def test_a_scaler_that_another_file_makes_may_have_been_restored_there(tmp_path: Path) -> None:
    loop = training("from files import make, resume", SAVES_ALL, "resume(torch.load(path), optimizer)")
    loop = loop.replace('torch.amp.GradScaler("cuda")', "make(path)")
    makes = """
import torch

def make(path):
    new = torch.amp.GradScaler("cuda")
    new.load_state_dict(torch.load(path)["scaler"])
    return new
"""
    root = project(tmp_path, train=loop, files=RESUMES + makes)
    assert codes_and_rows(root, "train.py") == []


HOLDERS = """
import torch

def save(path, holder):
    torch.save({"model": holder["model"].state_dict(), "optimizer": holder["optimizer"].state_dict()}, path)

def save_parts(path, parts):
    torch.save({"model": parts.model.state_dict(), "optimizer": parts.optimizer.state_dict()}, path)

class Plan:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    def save(self, path):
        torch.save({"optimizer": self.optimizer.state_dict()}, path)
"""


@pytest.mark.parametrize(
    ("before", "save", "rows"),
    [
        ("pass", "files.save(path, {'model': model, 'optimizer': optimizer})", [CALL]),
        ("held = {'model': model, 'optimizer': optimizer}", "files.save(path, held)", [CALL]),
        (
            "from types import SimpleNamespace as S",
            "files.save_parts(path, S(model=model, optimizer=optimizer))",
            [CALL],
        ),
        ("plan = files.Plan(optimizer)", "plan.save(path)", [CALL]),
        ("other = torch.optim.SGD(model.parameters())", "files.save(path, {'model': model, 'optimizer': other})", []),
        ("pass", "files.save(path, {'model': model, 'optimizer': optimizer, 'scaler': scaler})", []),
    ],
)
def test_a_helper_of_another_file_gets_an_optimizer_in_a_holder(
    tmp_path: Path, before: str, save: str, rows: list[int]
) -> None:
    root = project(tmp_path, files=HOLDERS, train=training("import files", save, before))
    assert codes_and_rows(root, "train.py") == [("AMP114", row) for row in rows]


def test_a_state_in_what_a_helper_is_given_is_no_checkpoint_of_its_own(tmp_path: Path) -> None:
    save = "more = {'optimizer': optimizer.state_dict()}; files.save(path, model, optimizer, more)"
    both = PLAIN.replace("optimizer):", "optimizer, more=None):").replace(
        "optimizer.state_dict()}", "optimizer.state_dict(), 'more': more}"
    )
    root = project(tmp_path, files=both, train=training("import files", save))
    assert codes_and_rows(root, "train.py") == [("AMP114", CALL)]


@pytest.mark.parametrize("name", ["train", "benchmark", "profile"])
def test_a_benchmark_that_keeps_states_trains(tmp_path: Path, name: str) -> None:
    save = 'torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)'
    root = project(tmp_path, **{name: training("", save)})
    assert codes(root, f"{name}.py") == ["AMP114"]


@pytest.mark.parametrize(
    ("body", "guarded"),
    [
        ("return torch.amp.GradScaler('cuda')", False),
        ("if half: return torch.amp.GradScaler('cuda')", True),
        ("if half:\n        return torch.amp.GradScaler('cuda')\n    else:\n        return None", True),
        ("if not half:\n        return\n    return torch.amp.GradScaler('cuda')", True),
        (
            "if half:\n        return torch.amp.GradScaler('cuda')\n    elif torch.cuda.is_available():\n        pass",
            True,
        ),
        (
            "if half:\n        return torch.amp.GradScaler('cuda')\n    else:\n        return torch.amp.GradScaler()",
            False,
        ),
        ("made = None\n    if half:\n        made = torch.amp.GradScaler('cuda')\n    return made", True),
    ],
)
def test_a_state_is_saved_of_a_scaler_that_is_there(tmp_path: Path, body: str, guarded: bool) -> None:
    helper = f"def make(half):\n    {body}\n"
    save = 'torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)'
    text = training(helper, save).replace('scaler = torch.amp.GradScaler("cuda")', "scaler = make(names)")
    [found] = check(project(tmp_path, train=text), "train.py").diagnostics
    assert found.fix is not None
    assert ("if scaler is not None" in "".join(edit.replacement for edit in found.fix.edits)) == guarded
