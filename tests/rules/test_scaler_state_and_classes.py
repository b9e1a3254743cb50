"""AMP114 where a class of another file saves, or steps the optimizer: a base, an object around the scaler, a manager."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import codes_and_rows, found_in, project

BASE = """
import torch

class Base:
    def save_state(self, path):
        torch.save({{"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}}, path)
        {more}
"""
TRAINER = """
import torch
from base import Base

class Trainer(Base):
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def fit(self, loader, path):
        for data, target in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(self.model(data), target)
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.save_state(path)
"""


def test_a_method_of_a_base_class_saves(tmp_path: Path) -> None:
    root = project(tmp_path, base=BASE.format(more="pass"), trainer=TRAINER)
    assert codes_and_rows(root, "trainer.py") == [("AMP114", 19)]


def test_a_method_of_a_base_class_saves_the_scaler_too(tmp_path: Path) -> None:
    root = project(
        tmp_path, base=BASE.format(more="torch.save(self.scaler.state_dict(), 'scaler.pt')"), trainer=TRAINER
    )
    assert codes_and_rows(root, "trainer.py") == []


STEPPER = """
import torch

class LossScaler:
    def __init__(self):
        self._gs = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer):
        self._gs.scale(loss).backward()
        self._gs.step(optimizer)
        self._gs.update()

    def state_dict(self):
        return self._gs.state_dict()
"""
ENGINE = """
import torch

def train_one_epoch(model, loader, optimizer, loss_scaler):
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.mse_loss(model(data), target)
        loss_scaler(loss, optimizer)
"""
MAIN = """
import torch
from engine import train_one_epoch
from {module} import {name}

def main(model, loader, path):
    optimizer = torch.optim.AdamW(model.parameters())
    loss_scaler = {name}()
    for epoch in range(9):
        train_one_epoch(model, loader, optimizer, loss_scaler)
        torch.save({{"model": model.state_dict(), "optimizer": optimizer.state_dict(){more}}}, path)
"""


@pytest.mark.parametrize(("module", "name"), [("stepper", "LossScaler"), ("timm.utils", "NativeScaler")])
def test_an_object_around_the_scaler_that_another_file_steps_with(tmp_path: Path, module: str, name: str) -> None:
    root = project(tmp_path, engine=ENGINE, stepper=STEPPER, main=MAIN.format(module=module, name=name, more=""))
    assert codes_and_rows(root, "main.py") == [("AMP114", 11)]
    kept = MAIN.format(module=module, name=name, more=", 'scaling': loss_scaler.state_dict()")
    assert codes_and_rows(project(tmp_path, main=kept), "main.py") == []


def test_an_object_that_nobody_knows_is_no_scaler(tmp_path: Path) -> None:
    loop = MAIN.format(module="elsewhere", name="LossScaler", more="")
    assert codes_and_rows(project(tmp_path, engine=ENGINE, main=loop), "main.py") == []


OPT_MANAGER = """
import torch

class Manager:
    def save(self, net, opt):
        torch.save({"net": net.state_dict(), "opt": opt.state_dict()}, "latest.pt")
"""
OPT_TRAINER = """
import torch
from manager import Manager

class Trainer:
    def __init__(self, net, opt):
        self.net, self.opt, self.manager = net, opt, Manager()
        self.scaler = torch.amp.GradScaler("cuda")

    def keep(self):
        self.manager.save(net=self.net, opt=self.opt)

    def step(self, data):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.net(data).mean()
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt)
        self.scaler.update()
"""


def test_an_optimizer_may_be_called_as_options_are(tmp_path: Path) -> None:
    assert "train.py:11 AMP114" in found_in(project(tmp_path, manager=OPT_MANAGER, train=OPT_TRAINER))
