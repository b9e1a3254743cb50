"""What `amplint trace` costs: the time of a training step with it and without, turn by turn, on the CPU.

    python benchmarks/trace_cost.py [--rounds N] [--threads N]

A ResNet-50 and a transformer of 12 layers train in bfloat16 regions on random data. A round is one block of steps without the
recorder, one with it, and one that looks at every operation; the first step of each block, which is run again, does not count.
What counts is processor time, so that a busy machine says the same.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn

import amplint

Step = Callable[[], None]


class _Bottleneck(nn.Module):
    def __init__(self, given: int, width: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(given, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width),
        )  # fmt: skip
        self.short = nn.Sequential(nn.Conv2d(given, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A block with its short cut."""
        return self.relu(self.body(x) + self.short(x))


def _resnet() -> tuple[nn.Module, torch.Tensor]:
    layers: list[nn.Module] = [
        nn.Conv2d(3, 64, 7, 2, 3, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.MaxPool2d(3, 2, 1),
    ]
    given = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for number in range(blocks):
            layers.append(_Bottleneck(given, width, 2 if number == 0 and width > 64 else 1))
            given = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(given, 100)), torch.randn(
        4, 3, 128, 128
    )


def _transformer() -> tuple[nn.Module, torch.Tensor]:
    layer = nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 12), nn.Linear(384, 100)), torch.randn(4, 96, 384)


def _step_of(model: nn.Module, x: torch.Tensor) -> Step:
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = model(x).float().logsumexp(-1).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def _block(step: Step, around: AbstractContextManager[Any], steps: int) -> list[float]:
    times = []
    with around:
        step()
        for _ in range(steps):
            began = time.process_time()
            step()
            times.append(time.process_time() - began)
    return times


def main() -> None:
    """Measure, and print a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    levels: dict[str, Callable[[], AbstractContextManager[Any]]] = {
        "alone": nullcontext,
        "traced": lambda: amplint.trace(quiet=True),
        "operations": lambda: amplint.trace(quiet=True, ops=True, again=False),
    }
    for name, made in (("ResNet-50", _resnet), ("transformer", _transformer)):
        step = _step_of(*made())
        step()
        times: dict[str, list[float]] = {level: [] for level in levels}
        for _ in range(options.rounds):
            for level, around in levels.items():
                times[level] += _block(step, around(), 2)
        medians = {level: statistics.median(each) for level, each in times.items()}
        ratios = ", ".join(f"{level} {medians[level] / medians['alone']:.2f}x" for level in levels if level != "alone")
        print(f"{name}: {medians['alone'] * 1000:.0f} ms a step alone; {ratios}", flush=True)


if __name__ == "__main__":
    main()
