"""A replay of one thing, for tests of what is around replays: the order of unscaling and clipping, with real torch objects.

What a text does is told from the order of the two words in it, and `SPIN`, `DIE` and `RAISE` in it do just that.
"""

from __future__ import annotations

import os
import re

import torch

from amplint.diagnostics import Diagnostic
from amplint.rule import Rule
from amplint.runtime.verdict import CONFIRMED, REFUTED, Outcome
from amplint.source import Source

STEPS = 6


def replay(
    before: Source, after: Source, diagnostic: Diagnostic, rule: Rule, device: str, seed: int, is_patch: bool
) -> Outcome:
    """Clip the gradients of a tiny model as both texts do, and measure the norm that the optimizer saw."""
    while "SPIN" in before.text:
        pass
    if "DIE" in before.text:
        os._exit(3)
    if "RAISE" in before.text:
        raise RuntimeError("no kernel\nfor this")
    found = re.search(r"clip_grad_norm_\(.*?([\d.]+)\)", before.text)
    assert found is not None
    limit = float(found[1])
    series = {
        "before": _norms(before.text, limit, seed),
        "after": _norms(after.text, limit, seed),
        "reference": _norms("unscale_ clip_grad_norm_(", limit, seed),
    }
    first = {name: {"norm": values[0]} for name, values in series.items()}
    holds = series["after"] == series["reference"] != series["before"]
    return Outcome(
        CONFIRMED if holds else REFUTED,
        "" if holds else "the norm is not the one it should be",
        "norm seen by the optimizer",
        first["before"],
        first["after"],
        {**first["reference"], "max_norm": found[1]},
        series,
    )


def _norms(text: str, limit: float, seed: int) -> tuple[float, ...]:
    torch.manual_seed(seed)
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    norms = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        scaler.scale(model(torch.randn(16, 8)).square().sum()).backward()
        if -1 < text.find("unscale_") < text.find("clip_grad_norm_("):
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        scaler.step(optimizer)  # unscales, where nothing has done so
        scaler.update()
        norms.append(float(torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])))
    return tuple(norms)
