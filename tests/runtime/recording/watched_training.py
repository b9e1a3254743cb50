"""A small model under training, and what the recorder says of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amplint.model.events import (
    Event,
)  # fmt: skip

torch = pytest.importorskip("torch", reason="the recorder needs torch: pip install 'amplint[verify]'")

from torch.nn.utils import clip_grad_norm_  # noqa: E402

from amplint.runtime.recording.recorder import Recording  # noqa: E402


def line(mark: str) -> int:
    """The line of the caller's file that ends in a mark."""
    lines = Path(sys._getframe(1).f_code.co_filename).read_text("utf-8").splitlines()
    found = [number for number, text in enumerate(lines, 1) if text.endswith(f"  # {mark}")]
    assert len(found) == 1, mark
    return found[0]


def kinds(recording: Recording) -> set[str]:
    return {hazard.kind for hazard in recording.hazards}


def events(recording: Recording, kind: type[Event]) -> list[Any]:
    return [recorded for recorded in recording.events if isinstance(recorded.event, kind)]


class Training:
    """One small model with all that belongs to it."""

    def __init__(self, make: Callable[..., Any] | None = None, **scaler: Any) -> None:
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
        self.optimizer = (make or torch.optim.SGD)(self.model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cpu", **{"init_scale": 1024.0, **scaler})
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 100)
        self.batch = torch.randn(4, 8)

    def loss(self, overflow: bool = False) -> Any:
        out = self.model(self.batch * (float("inf") if overflow else 1.0))
        return (out.float() - 3.0).square().mean()


def textbook(training: Training, overflow: bool = False) -> None:
    training.optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = training.loss(overflow)
    training.scaler.scale(loss).backward()
    training.scaler.unscale_(training.optimizer)
    clip_grad_norm_(training.model.parameters(), 1.0)
    training.scaler.step(training.optimizer)
    before = training.scaler.get_scale()
    training.scaler.update()
    if training.scaler.get_scale() >= before:
        training.scheduler.step()


def scaled_step(training: Training, overflow: bool = False) -> None:
    training.optimizer.zero_grad()
    training.scaler.scale(training.loss(overflow)).backward()
    training.scaler.step(training.optimizer)
    training.scaler.update()
