"""Repairs by somebody else: what they do besides, on other paths, to other optimizers, and how they carry a scaler's state."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from checkout import ROOT
from test_replay import EMULATED, RULES

from amplint.engine.checker import check_source
from amplint.engine.config import Settings
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.verdict import CONFIRMED, NOT_REPLAYABLE, REFUTED, Outcome
from amplint.source import Source


def patched(code: str, before: str, after: str) -> Outcome:
    """What becomes of the first finding of a rule."""
    source = Source("train.py", before)
    first = check_source(source, Settings(ROOT, select=(code,)), ROOT / "train.py").diagnostics[0]
    return replay(source, Source("train.py", after), first, RULES[code], EMULATED, 0, True)


# -- the state of a scaler in a checkpoint -----------------------------------------------------------------------------

SAVED = """\
import torch


def train(model, loader, epochs, path, resume):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    if resume:
        checkpoint = torch.load(resume)
        optimizer.load_state_dict(checkpoint["optimizer"])
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            with torch.amp.autocast("cuda", dtype=torch.float16):
                loss = torch.nn.functional.mse_loss(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, path)
"""
LOAD = '        optimizer.load_state_dict(checkpoint["optimizer"])\n'
SAVE = "        torch.save(state, path)\n"


def carried(load: str, save: str, behind: str = "") -> str:
    """The program with lines that load the scaler's state, and lines that save it, before the file is written or after."""
    return SAVED.replace(LOAD, LOAD + load).replace(SAVE, save + SAVE + behind)


@pytest.mark.parametrize(
    ("load", "save"),
    [
        ('scaler.load_state_dict(checkpoint["amp"])', 'state["amp"] = scaler.state_dict()'),
        (
            'if "amp" in checkpoint:\n            scaler.load_state_dict(checkpoint["amp"])',
            "state.update(amp=scaler.state_dict())",
        ),
        (
            'scaler.load_state_dict(checkpoint.get("amp"))',
            'if scaler is not None:\n            state["amp"] = scaler.state_dict()',
        ),
    ],
)
def test_the_lines_that_carry_a_state_are_followed(load: str, save: str) -> None:
    found = patched("AMP114", SAVED, carried(f"        {load}\n", f"        {save}\n"))
    assert found.verdict == CONFIRMED, found
    other = patched("AMP114", SAVED, carried(f"        {load}\n".replace('"amp"', '"scaler"'), f"        {save}\n"))
    assert other.verdict == REFUTED, other


@pytest.mark.parametrize(
    ("save", "behind"),
    [
        ("", 'state["scaler"] = scaler.state_dict()'),
        ('state["model"] = scaler.state_dict()', ""),
        ('state["scaler"] = scaler', ""),
        ('state["scaler"] = torch.amp.GradScaler("cuda").state_dict()', ""),
        ('if scaler is None:\n            state["scaler"] = scaler.state_dict()', ""),
    ],
    ids=["after the file is written", "over the model", "the scaler itself", "of another", "where there is none"],
)
def test_a_state_that_is_not_carried_is_not_confirmed(save: str, behind: str) -> None:
    load = '        scaler.load_state_dict(checkpoint["scaler"])\n'
    text = carried(load, f"        {save}\n" if save else "", f"        {behind}\n" if behind else "")
    assert patched("AMP114", SAVED, text).verdict != CONFIRMED


# -- what else a patch does --------------------------------------------------------------------------------------------

INSIDE = """\
import torch


def train(net, other, loader, criterion, use):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            if use:
                loss = criterion(net(x), y)
                scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


def test_a_name_without_a_value_on_another_path_is_told() -> None:
    moved = INSIDE.replace("                scaler.scale(loss).backward()\n", "        scaler.scale(loss).backward()\n")
    found = patched("AMP201", INSIDE, moved)
    assert (found.verdict, found.reason) == (
        NOT_REPLAYABLE,
        "on another path the change leaves `loss` without a value",
    )
    assert patched("AMP201", INSIDE, moved.replace("scale(loss)", "scale(losses)")).verdict == REFUTED


READ = INSIDE.replace("                scaler.scale(loss).backward()\n", "").replace(
    "        scaler.step(optimizer)\n",
    "        scaler.scale(loss).backward()\n        scaler.unscale_(optimizer)\n"
    "        norm = max(p.grad.abs().max() for p in net.parameters())\n        print(norm)\n        scaler.step(optimizer)\n",
)
NOT_READ = "\n".join(line for line in READ.split("\n") if "norm" not in line)


def test_a_norm_that_is_shown_may_go_unless_the_finding_is_about_it() -> None:
    again = READ.replace(
        "        scaler.step(optimizer)\n", "        scaler.unscale_(optimizer)\n        scaler.step(optimizer)\n"
    )
    assert patched("AMP110", again, NOT_READ).verdict == CONFIRMED
    scaled = READ.replace("        scaler.unscale_(optimizer)\n", "")
    assert patched("AMP102", scaled, READ).verdict == CONFIRMED
    found = patched("AMP102", scaled, NOT_READ)
    assert (found.verdict, found.reason) == (
        NOT_REPLAYABLE,
        "with the fix, gradients are not read any more, or not as they are",
    )


CLEARED_BEHIND = """\
import torch


class Trainer:
    def fit(self, batch):
        if self.amp:
            with torch.amp.autocast("cuda", dtype=torch.float16):
                outputs = self.model(batch)
                loss = self.criterion(outputs, batch)
                self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.optimizer.zero_grad()
            self.scaler.update()
        else:
            outputs = self.model(batch)
            self.criterion(outputs, batch).backward()
            self.optimizer.step()
"""


def test_gradients_may_be_cleared_in_front_of_the_pass_and_a_local_variable_may_have_another_name() -> None:
    mended = CLEARED_BEHIND.replace("                self.scaler.scale", "            self.scaler.scale")
    in_front = mended.replace("            self.optimizer.zero_grad()\n", "").replace(
        "        if self.amp:\n", "        if self.amp:\n            self.optimizer.zero_grad()\n"
    )
    named = in_front.replace("outputs", "predictions", 2)
    for text in (mended, in_front, named):
        assert patched("AMP201", CLEARED_BEHIND, text).verdict == CONFIRMED, text
    lost = in_front.replace("            self.optimizer.zero_grad()\n", "")
    assert patched("AMP201", CLEARED_BEHIND, lost).verdict == REFUTED


NO_DEVICE = """\
import torch


def train(self, model, loader, optimizer, criterion):
    for x, y in loader:
        with torch.autocast():
            loss = criterion(model(x), y)
        with torch.autocast(device_type=self.device, dtype=torch.bfloat16):
            other = criterion(model(y), x)
"""


def test_a_device_that_only_the_run_tells_may_be_the_one_of_the_fix() -> None:
    told = NO_DEVICE.replace("autocast()", "autocast(device_type=torch.device(self.device).type)")
    assert patched("AMP205", NO_DEVICE, told).verdict == CONFIRMED
    both = told.replace("device_type=self.device,", "device_type=torch.device(self.device).type,")
    assert patched("AMP205", NO_DEVICE, both).verdict != REFUTED
    assert patched("AMP205", NO_DEVICE, told.replace(".type", ".index")).verdict != CONFIRMED
    assert patched("AMP205", NO_DEVICE, both.replace(".type)", ".type, enabled=False)")).verdict == REFUTED


CHUNKS = """\
import torch


class Trainer:
    def __init__(self, model):
        self.model = model
        self.scaler = torch.amp.GradScaler("cuda")

    def forward(self, chunks):
        total = 0.0
        for chunk in chunks:
            with torch.amp.autocast("cuda", dtype=torch.float16):
                loss = self.model(chunk)
                self.scaled(loss).backward()
        return total

    def scaled(self, loss):
        return self.scaler.scale(loss)
"""


def test_a_backward_pass_is_judged_where_only_a_caller_out_of_sight_steps() -> None:
    moved = CHUNKS.replace("                self.scaled", "            self.scaled")
    assert patched("AMP201", CHUNKS, moved).verdict == CONFIRMED
    outside = moved.replace("                loss = self.model", "                pass\n            loss = self.model")
    assert patched("AMP201", CHUNKS, outside).verdict != CONFIRMED


CLIPPED = """\
import torch


def train(self, loader, criterion, config, log):
    optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = criterion(self.model(x), y)
        scaler.scale(loss).backward()
        if config.clip > 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.clip)
        log(max(p.grad.abs().max() for p in self.model.parameters()))
        scaler.step(optimizer)
        scaler.update()
"""


def test_a_change_in_a_branch_is_judged_on_the_path_that_takes_it() -> None:
    unscale = "            scaler.unscale_(optimizer)\n"
    clip = "        if config.clip > 0:\n"
    mended = CLIPPED.replace(unscale, "").replace(clip, "        if scaler:\n" + unscale + clip)
    assert patched("AMP102", CLIPPED, mended).verdict == CONFIRMED
    clipped_last = CLIPPED.replace(unscale, "").replace(
        "        log(", "        scaler.unscale_(optimizer)\n        log("
    )
    assert patched("AMP102", CLIPPED, clipped_last).verdict == REFUTED


HALVES = """\
import torch


def train(model, average, loader, epochs, path):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            with torch.amp.autocast("cuda", dtype=torch.bfloat16):
                loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
        state = {
            "epoch": epoch,
            "model": average.module.half() if hasattr(model, "module") else average.half(),
            "optimizer": optimizer.state_dict(),
        }
        torch.save(state, path)
"""


def test_a_patch_may_repair_all_findings_of_a_rule_at_once() -> None:
    assert patched("AMP308", HALVES, HALVES.replace(".half()", "")).verdict == CONFIRMED
    assert (
        patched("AMP308", HALVES, HALVES.replace(".half()", "").replace("epoch,", "epoch + 1,")).verdict
        == NOT_REPLAYABLE
    )


LATE = """\
import torch


class Loop:
    def fit(self):
        for batch in self.loader:
            for optimizer in self.optimizers:
                optimizer.zero_grad()
            with torch.amp.autocast("cuda", dtype=torch.float16):
                loss = self.model(batch)
            self.scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            for optimizer in self.optimizers:
                self.scaler.step(optimizer)
            self.scaler.update()
"""


def test_a_loop_over_optimizers_is_followed() -> None:
    clip = "            torch.nn.utils.clip"
    loop = "            for optimizer in self.optimizers:\n                self.scaler.unscale_(optimizer)\n"
    assert patched("AMP101", LATE, LATE.replace(clip, loop + clip)).verdict == CONFIRMED


MISPLACED = """\
import torch


def train(model, loader, optimizer):
    for batch in loader:
        with torch.cuda.amp.autocast(torch.bfloat16):
            loss = model(batch)
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_dtype_in_the_place_of_a_flag_is_the_one_that_is_meant() -> None:
    moved = MISPLACED.replace("            loss.backward", "        loss.backward")
    assert patched("AMP201", MISPLACED, moved.replace("(torch.bf", "(dtype=torch.bf")).verdict != REFUTED
    plain = MISPLACED.replace("torch.bfloat16", "")
    assert patched("AMP201", plain, moved.replace("(torch.bf", "(dtype=torch.bf")).verdict == REFUTED
