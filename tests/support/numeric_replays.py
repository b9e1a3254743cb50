"""Findings about numbers, replayed: of a loss in a training loop, or of any piece of a text; needs torch."""

from __future__ import annotations

from dataclasses import replace

import torch

from amplint.diagnostics import Applicability, Diagnostic, Edit, Fix
from amplint.engine.fixed_text import apply
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.model.observables import NON_FINITE, Observable
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.verdict import Outcome
from amplint.source import Source

RULE = next(rule for rule in load_rules() if rule.code == "AMP301")
EMULATED = "cuda-emulated"

torch.set_num_threads(1)  # the order of sums decides the last digits


def findings(source: Source) -> list[Diagnostic]:
    return [each for each in lint_source(source, [RULE]).diagnostics if each.fix is not None]


def outcome(text: str, after: str | None = None, device: str = EMULATED, seed: int = 0) -> Outcome:
    """The outcome of the first finding in a text; `after` stands for the text with its fix."""
    source = Source("loss.py", text)
    diagnostic = findings(source)[0]
    fixed = apply(source, [diagnostic])[0] if after is None else after
    return replay(source, Source("loss.py", fixed), diagnostic, RULE, device, seed)


def loop(loss: str, before: str = "", dtype: str = "torch.float16", device: str = "cuda") -> str:
    """A training loop with some statements about `logits`, `target`, and at last `loss`."""
    body = "\n            ".join(loss.splitlines())
    return f"""\
import math
import torch
import torch.nn.functional as F
from torch import nn
from elsewhere import smooth
{before}

def train(loader, optimizer, scaler):
    model = nn.Linear(8, 8).cuda()
    for x, target in loader:
        with torch.amp.autocast("{device}", dtype={dtype}):
            logits = model(x)
            {body}
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""


ENTROPY = "p = torch.sigmoid(logits)\nloss = -(target * torch.log(p + 1e-8)).mean()"


def proved(text: str, piece: str, instead: str, measure: str = NON_FINITE, safe: bool = True) -> Outcome:
    """The outcome of a finding about a piece of a text, with a fix that puts something else there."""
    source = Source("any.py", text)
    start = text.index(piece)
    applicability = Applicability.SAFE if safe else Applicability.UNSAFE
    fix = Fix("Replace", (Edit(start, start + len(piece), instead),), applicability)
    diagnostic = Diagnostic("AMP999", "any", "any", source.range(start, start + len(piece)), fix=fix, path="any.py")
    rule = replace(RULE, code="AMP999", name="any", observable=Observable(measure))
    return replay(source, Source("any.py", apply(source, [diagnostic])[0]), diagnostic, rule, EMULATED, 0)
