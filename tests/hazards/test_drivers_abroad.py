"""Trainers, hooks and callbacks: a class in one file that another file, or a library, drives."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import codes, project

from amplint.diagnostics import Diagnostic
from amplint.engine.checker import check_bytes
from amplint.engine.config import Settings
from amplint.engine.discovery import FoundFile
from amplint.engine.runner import RunOptions, run


@pytest.mark.parametrize(("precision", "found"), [('"fp16"', ["AMP101"]), ('"fp32"', []), ("args.precision", [])])
def test_a_project_may_say_what_drives_a_class(precision: str, found: list[str], tmp_path: Path) -> None:
    wrapper = """
        import torch

        def Engine(precision="fp32"):
            if precision == "fp16":
                return Scaling()

        class Scaling:
            pass

        def Module(engine: Engine):
            return Driven

        class Driven:
            def iteration(self, batch, optimizer):
                scaler = torch.amp.GradScaler("cuda")
                loss = self.forward(batch)
                scaler.scale(loss).backward()
                self.after_backward()
                scaler.step(optimizer)
                scaler.update()

            def after_backward(self):
                pass
    """
    train = f"""
        import torch
        from library.amp import Engine, Module

        class Net(Module):
            def after_backward(self):
                torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)

        engine = Engine(precision={precision})
        engine.fit(Net(), scaler=None)
    """
    root = project(tmp_path, train=train, says=wrapper)
    settings = Settings(root, wrappers=(("library.amp", "says.py"),))
    report = check_bytes("train.py", (root / "train.py").read_bytes(), settings, root / "train.py")
    assert [each.code for each in report.diagnostics] == found


TRAINER = """
import torch

class HookBase:
    trainer = None

class Trainer:
    def __init__(self, model, optimizer, grad_scaler=None):
        self.model, self.optimizer, self._hooks = model, optimizer, []
        self.grad_scaler = torch.amp.GradScaler("cuda") if grad_scaler is None else grad_scaler

    def run_step(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch)
        self.optimizer.zero_grad()
        self.grad_scaler.scale(loss).backward()
        self.grad_scaler.step(self.optimizer)
        self.grad_scaler.update()
"""

HOOK = """
from {module} import HookBase

class Schedule(HookBase):
    def {method}(self):
        self.trainer.scheduler.step()
"""


@pytest.mark.parametrize(
    ("module", "method", "found"),
    [
        (".loop", "after_step", ["AMP107"]),
        ("pkg.loop", "after_train_iter", ["AMP107"]),
        ("pkg", "after_step", ["AMP107"]),
        (".loop", "after_epoch", []),
        ("lightning", "on_train_batch_end", []),
    ],
)
def test_a_hook_of_a_trainer_in_another_file(tmp_path: Path, module: str, method: str, found: list[str]) -> None:
    hook = HOOK.format(module=module, method=method)
    files = {"pkg_init": "from .loop import HookBase\n", "pkg_loop": TRAINER, "pkg_hooks": hook}
    root = project(tmp_path, **files)
    assert codes(root, "pkg/hooks.py") == found


MODULES = """
import lightning.pytorch as pl
import torch

class Net(pl.LightningModule):
    def on_after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)

class Manual(pl.LightningModule):
    automatic_optimization = False

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        opt.zero_grad()
        self.manual_backward(self(batch).mean())
        self.clip_gradients(opt, gradient_clip_val=0.5)
        opt.step()

class Careful(pl.LightningModule):
    def on_before_optimizer_step(self, optimizer):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)

class Norms(pl.Callback):
    def on_after_backward(self, trainer, module):
        module.log("norm", sum(param.grad.norm() for param in module.parameters()))
"""
TRAINING = """
import lightning.pytorch as pl
from modules import Careful, Manual, Net, Norms

def main(loader):
    trainer = pl.Trainer(precision={precision}, callbacks=[Norms()])
    trainer.fit(Careful(), loader)
    trainer.fit(Manual(), loader)
    trainer.fit(Net(), loader)
"""


def in_project(root: Path) -> dict[str, list[Diagnostic]]:
    """What a run on all files of a project finds in each."""
    found = [FoundFile(each, each.name, Settings(root), False) for each in sorted(root.rglob("*.py"))]
    return {report.path: list(report.diagnostics) for report in run(found, RunOptions(jobs=1))}


def test_a_trainer_in_another_file_scales_what_modules_and_callbacks_meet(tmp_path: Path) -> None:
    root = project(tmp_path, modules=MODULES, train=TRAINING.format(precision='"16-mixed"'))
    found = in_project(root)
    assert [(each.code, each.range.start.row) for each in found["modules.py"]] == [
        ("AMP101", 7),
        ("AMP101", 16),
        ("AMP102", 25),
    ]
    assert all(each.note.endswith("; train.py:6 makes what runs this in float16") for each in found["modules.py"])
    assert found["train.py"] == []


SCHEDULED = """
import torch
from lightning.pytorch import LightningModule

class Net(LightningModule):
    def configure_optimizers(self):
        self.optimizer = torch.optim.AdamW(self.parameters())
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(self.optimizer, max_lr=1e-3, total_steps=1000)
        return self.optimizer

    def training_step(self, batch, batch_idx):
        loss = self(batch).mean()
        self.scheduler.step()
        return loss
"""


@pytest.mark.parametrize(("precision", "found"), [('"16-mixed"', [("AMP107", 13)]), ('"32-true"', [])])
def test_a_module_without_a_word_of_amp_is_judged(precision: str, found: list[tuple[str, int]], tmp_path: Path) -> None:
    train = f"""
        from lightning.pytorch import Trainer
        from net import Net

        Trainer(precision={precision}).fit(Net(), loader)
    """
    reports = in_project(project(tmp_path, net=SCHEDULED, train=train))
    assert [(each.code, each.range.start.row) for each in reports["net.py"]] == found


@pytest.mark.parametrize("precision", ['"bf16-mixed"', '"32-true"', "args.precision"])
def test_a_trainer_of_another_precision_scales_nothing(precision: str, tmp_path: Path) -> None:
    root = project(tmp_path, modules=MODULES, train=TRAINING.format(precision=precision))
    assert in_project(root) == {"modules.py": [], "train.py": []}


def test_a_trainer_that_knows_nothing_of_a_module_says_nothing_of_it(tmp_path: Path) -> None:
    other = 'import lightning.pytorch as pl\n\ntrainer = pl.Trainer(precision="16-mixed")\n'
    root = project(tmp_path, modules=MODULES, train=other)
    assert in_project(root) == {"modules.py": [], "train.py": []}


def test_a_file_with_a_trainer_of_its_own_needs_no_other(tmp_path: Path) -> None:
    own = f"{MODULES}\ntrainer = pl.Trainer(precision=16)\n"
    root = project(tmp_path, modules=own, train=TRAINING.format(precision='"32-true"'))
    assert [each.code for each in in_project(root)["modules.py"]] == ["AMP101", "AMP101", "AMP102"]


def test_a_trainer_of_float16_speaks_for_the_layers_of_other_files(tmp_path: Path) -> None:
    layers = """
        import torch

        class Scores(torch.nn.Module):
            def __init__(self, width):
                super().__init__()
                self.query = torch.nn.Linear(width, width)

            def forward(self, x, mask):
                return torch.matmul(self.query(x), x.mT).masked_fill(mask, -1e9)
    """
    half, full = (f"from lightning import Trainer\n\ntrainer = Trainer(precision={each})\n" for each in (16, 32))
    assert [each.code for each in in_project(project(tmp_path / "half", layers=layers, train=half))["layers.py"]] == [
        "AMP303"
    ]
    assert in_project(project(tmp_path / "full", layers=layers, train=full))["layers.py"] == []


def test_arguments_in_another_file_say_what_a_trainer_does(tmp_path: Path) -> None:
    trainer = """
        from torch import nn
        from transformers import Trainer

        class Clipping(Trainer):
            def training_step(self, model, inputs, num_items_in_batch=None):
                loss = super().training_step(model, inputs, num_items_in_batch)
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
                return loss
    """
    train = """
        from trainer import Clipping
        from transformers import TrainingArguments

        def main(model, data):
            Clipping(model=model, args=TrainingArguments("out", fp16=True), train_dataset=data).train()
    """
    found = in_project(project(tmp_path, trainer=trainer, train=train))
    assert [(each.code, each.range.start.row) for each in found["trainer.py"]] == [("AMP101", 8)]
    assert found["train.py"] == []


@pytest.mark.parametrize(("choices", "found"), [('["no", "fp16"]', ["AMP101"]), ('["no", "bf16"]', [])])
def test_an_accelerator_may_come_from_a_function_of_another_file(
    choices: str, found: list[str], tmp_path: Path
) -> None:
    util = f"""
        from accelerate import Accelerator

        def add_arguments(parser):
            parser.add_argument("--mixed_precision", default="no", choices={choices})

        def prepare_accelerator(args):
            folder = None
            if args.folder:
                folder = args.folder
            accelerator = Accelerator(mixed_precision=args.mixed_precision, project_dir=folder)
            print("device:", accelerator.device)
            return accelerator
    """
    train = """
        import torch

        import util

        def train(args, model, optimizer, loader):
            accelerator = util.prepare_accelerator(args)
            model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
            for batch in loader:
                accelerator.backward(model(batch).mean())
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
    """
    root = project(tmp_path, util=util, train=train)
    assert [each.code for each in in_project(root)["train.py"]] == found


def test_a_hook_in_another_file_meets_what_the_trainer_does(tmp_path: Path) -> None:
    hooks = """
        from detectron2.engine import HookBase

        class Schedule(HookBase):
            def __init__(self, scheduler):
                self.scheduler = scheduler

            def after_step(self):
                self.scheduler.step()
    """
    train = """
        from detectron2.engine import AMPTrainer, SimpleTrainer

        import hooks

        def main(args, model, loader, optimizer, scheduler):
            trainer = (AMPTrainer if args.amp else SimpleTrainer)(model, loader, optimizer)
            trainer.register_hooks([hooks.Schedule(scheduler)])
    """
    found = in_project(project(tmp_path, hooks=hooks, train=train))
    assert [(each.code, each.range.start.row) for each in found["hooks.py"]] == [("AMP107", 9)]
    assert found["train.py"] == []
