"""Repairs where there are several of a kind: optimizers, scalers, functions that save, names for one loss."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from test_patched import patched
from test_replay import outcome

from amplint.runtime.verdict import CONFIRMED, NOT_REPLAYABLE

TWO_SCALERS = """\
import torch


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.decoder.parameters())
        self.discr_optimizer = torch.optim.Adam(model.discr.parameters())
        self.scaler = torch.amp.GradScaler("cuda")
        self.discr_scaler = torch.amp.GradScaler("cuda")

    def step(self, images):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(images)
            self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(images, discriminate=True)
        self.discr_scaler.scale(loss).backward()
        self.discr_scaler.step(self.discr_optimizer)
        self.discr_scaler.update()
        self.discr_optimizer.zero_grad()
"""


def test_a_loss_that_one_of_two_scalers_scales_is_that_of_its_optimizer() -> None:
    assert outcome("AMP201", TWO_SCALERS).verdict == CONFIRMED


TWO_NETS = """\
import torch


class Trainer:
    def __init__(self, generator, critic):
        self.generator, self.critic = generator, critic
        self.opt_g = torch.optim.Adam(generator.parameters(), lr=1e-4)
        self.opt_d = torch.optim.Adam(critic.parameters(), lr=4e-4)
        self.scaler = torch.amp.GradScaler("cuda")

    def step(self, real, noise):
        self.opt_d.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss_d = torch.relu(1 - self.critic(real)).mean()
        self.scaler.scale(loss_d).backward()
        self.scaler.step(self.opt_d)
        self.opt_g.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss_g = -self.critic(self.generator(noise)).mean()
        self.scaler.scale(loss_g).backward()
        torch.nn.utils.clip_grad_norm_(self.generator.parameters(), 5.0)
        self.scaler.step(self.opt_g)
        self.scaler.update()
"""


def test_a_clip_that_is_given_another_net_is_not_confirmed() -> None:
    clip = "        torch.nn.utils.clip"
    unscaled = TWO_NETS.replace(clip, "        self.scaler.unscale_(self.opt_g)\n" + clip)
    assert patched("AMP101", TWO_NETS, unscaled).verdict == CONFIRMED
    other = unscaled.replace("clip_grad_norm_(self.generator", "clip_grad_norm_(self.critic")
    assert patched("AMP101", TWO_NETS, other).verdict not in (CONFIRMED,)


TWO_SAVES = """\
import torch


def save(path, model, optimizer, scaler, epoch):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, path)


def main(model, loader, args):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cuda")
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    for epoch in range(args.epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": epoch}, args.path)
"""


def test_a_function_that_saves_and_is_left_as_it_is_is_not_confirmed() -> None:
    after = TWO_SAVES.replace('"step": epoch}', '"step": epoch, "scaler": scaler.state_dict()}')
    load = '        optimizer.load_state_dict(state["optimizer"])\n'
    after = after.replace(load, load + '        scaler.load_state_dict(state["scaler"])\n')
    assert patched("AMP114", TWO_SAVES, after).verdict == NOT_REPLAYABLE


RENAMED = """\
import torch


def train(model, loader, criterion, writer):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        loss = scaler.scale(loss)
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
        writer.add_scalar("loss", loss.item(), step)
"""


def test_a_scaled_loss_under_a_name_of_its_own_is_followed() -> None:
    named = RENAMED.replace("loss = scaler.scale", "scaled = scaler.scale")
    assert patched("AMP119", RENAMED, named.replace("loss.backward", "scaled.backward")).verdict == CONFIRMED
    assert patched("AMP119", RENAMED, named).verdict != CONFIRMED
