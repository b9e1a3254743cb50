"""A finding that is claimed of code without the defect, with a fix that the code does not need: it is not confirmed.

What is seen before a fix is what the code does, as it is after it, and not what the rule says of such code.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.diagnostics import Fix
from amplint.engine.fixed_text import apply
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.runtime.devices import EMULATED
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.text_edits import edits_between
from amplint.runtime.verdict import CONFIRMED, Outcome
from amplint.source import Source

LOOP = """
import torch

def train(model, criterion, loader, optimizer):
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(data), target)
        {test}
        loss.backward()
        optimizer.step()
"""
RECURSIVE = """
import torch
{decorator}
def encode(tree, model):
    {region}
        return model(tree.x) + sum({inner}(child, model) for child in tree.children)
"""
DECORATOR, REGION = (
    '@torch.autocast("cuda", dtype=torch.bfloat16)',
    'with torch.autocast("cuda", dtype=torch.bfloat16):',
)
REPLICAS = """
import torch

class Net(torch.nn.Module):
    def forward(self, x):
        {inside}
            return x @ x

def train(loader):
    model = torch.nn.DataParallel(Net())
    for data in loader:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(data).mean()
        loss.backward()
"""
CHECKED = """
import torch

def evaluate(model, data):
    with torch.autocast("cuda", dtype=torch.{dtype}{enabled}):
        return model(data)
"""
PLAIN = """
import torch

def evaluate(model, data, kind, options):
    with torch.autocast({given}, dtype=torch.bfloat16):
        return model(data)
"""
ASKED = ", enabled=torch.cuda.is_bf16_supported(including_emulation=False)"


def outcome(code: str, flagged: str, text: str, fixed: str) -> Outcome:
    """What becomes of the finding of one text, claimed of another, at the same place.

    Args:
        code: the rule.
        flagged: a text with the finding.
        text: the text that it is claimed of.
        fixed: that one, with the fix that comes with the claim.
    """
    rule = next(each for each in load_rules() if each.code == code)
    (found,) = lint_source(Source("train.py", flagged), [rule]).diagnostics
    claimed = replace(found, fix=Fix("", tuple(edits_between(text, fixed))))
    source = Source("train.py", text)
    return replay(source, replace(source, text=apply(source, [claimed])[0]), claimed, rule, EMULATED, 0)


def _claims() -> list[tuple[str, str, str, str]]:
    tested = LOOP.format(test="if not torch.isfinite(loss): continue")
    twice = tested.replace("        loss.backward()", "        if loss.isnan(): continue\n        loss.backward()")
    recursive = RECURSIVE.format(decorator=DECORATOR, region="if True:", inner="encode")
    plain = RECURSIVE.format(decorator=DECORATOR, region="if True:", inner="decode")
    bare, inside = (REPLICAS.format(inside=each) for each in (f"if {'x':{len(REGION) - 4}}:", REGION))
    asked = CHECKED.format(dtype="bfloat16", enabled=ASKED)
    half = CHECKED.format(dtype="float16", enabled="")
    bfloat = CHECKED.format(dtype="bfloat16", enabled="")
    return [
        ("AMP307", LOOP.format(test="print(loss)"), tested, twice),
        ("AMP215", recursive, plain, RECURSIVE.format(decorator="", region=REGION, inner="decode")),
        ("AMP214", bare, inside, inside.replace("            return x @ x", "            return (x @ x)")),
        ("AMP403", bfloat, asked, asked.replace(ASKED, f"{ASKED} and torch.cuda.is_available()")),
        *(
            ("AMP205", PLAIN.format(given="True"), PLAIN.format(given=each), PLAIN.format(given="'cuda'"))
            for each in ("kind", "options.device_type", "device_type=kind", "device_type=options.device_name")
        ),
        ("AMP403", bfloat, half, CHECKED.format(dtype="float16", enabled=ASKED)),
    ]


@pytest.mark.parametrize(("code", "flagged", "text", "fixed"), _claims(), ids=lambda each: each[:6])
def test_code_without_the_defect_is_not_confirmed(code: str, flagged: str, text: str, fixed: str) -> None:
    assert outcome(code, flagged, text, fixed).verdict != CONFIRMED
