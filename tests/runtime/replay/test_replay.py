"""Fixes are proved by replaying them: what they repair shows before, and is gone after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

import torch
from checkout import ROOT

from amplint.diagnostics import Diagnostic, Edit, Fix
from amplint.engine.fixed_text import apply
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.rule import Rule
from amplint.runtime.repairs import Repair
from amplint.runtime.replay.finding_replay import replay
from amplint.runtime.replay.neighbouring_fixes import judge_in_company
from amplint.runtime.verdict import CONFIRMED, NOT_OBSERVABLE, NOT_REPLAYABLE, REFUTED, Outcome
from amplint.source import Source

RULES = {rule.code: rule for rule in load_rules()}
EMULATED = "cuda-emulated"


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)  # the order of sums decides the last digits


def read(path: Path) -> Source:
    return Source.from_bytes(str(path), path.read_bytes())


def findings(source: Source, rule: Rule) -> list[Diagnostic]:
    """The findings that have a fix."""
    return [each for each in lint_source(source, [rule]).diagnostics if each.fix is not None]


def outcome(code: str, text: str, device: str = EMULATED, after: str | None = None) -> Outcome:
    """The outcome of the only fixable finding in a text; `after` stands for the text with its fix."""
    source = Source("train.py", text)
    (diagnostic,) = findings(source, RULES[code])
    fixed = apply(source, [diagnostic])[0] if after is None else after
    return replay(source, Source("train.py", fixed), diagnostic, RULES[code], device, 0)


def flagged(code: str) -> list[Path]:
    files = sorted(ROOT.glob(f"fixtures/{code.lower()}_*/flagged_*.py"))
    return [path for path in files if not path.name.endswith(".fixed.py")]


REPLAYED = [path for code, rule in RULES.items() if rule.observable is not None for path in flagged(code)][::7]
"""Some; `test_fixture_evidence` has the fixes of all of them proved."""


def label(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def proof(source: Source, diagnostic: Diagnostic, rule: Rule) -> Outcome:
    """The outcome of a finding, in company where it needs some."""

    def judged(before: Source, after: Source, finding: Diagnostic) -> Outcome:
        return replay(before, after, finding, rule, EMULATED, 0)

    fixed = Source(source.path, apply(source, [diagnostic])[0])
    alone = judged(source, fixed, diagnostic)
    if not alone.others:
        return alone
    neighbours = [one for other in RULES.values() if other is not rule for one in findings(source, other)]
    repair = Repair(source, fixed, diagnostic)
    return judge_in_company(source, diagnostic, alone, neighbours, repair.with_fixes, judged)


@pytest.mark.parametrize("path", REPLAYED, ids=label)
def test_code_as_it_stands_is_never_confirmed_as_its_own_fix(path: Path) -> None:
    source, rule = read(path), RULES[path.parent.name[:6].upper()]
    for diagnostic in findings(source, rule):
        assert replay(source, source, diagnostic, rule, EMULATED, 0).verdict != CONFIRMED


CLIP = """
import torch

def train(model, loader, loss_fn):
    optimizer = torch.optim.{optimizer}
    scaler = torch.amp.GradScaler("cuda", init_scale={scale})
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(x), y)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
"""


@pytest.mark.parametrize("device", [EMULATED, "cpu"])
@pytest.mark.parametrize("optimizer", ["SGD(model.parameters(), lr=0.1)", "AdamW(model.parameters(), fused=True)"])
def test_the_norm_of_a_scaled_clip_is_the_threshold_over_the_scale(device: str, optimizer: str) -> None:
    proved = outcome("AMP101", CLIP.format(optimizer=optimizer, scale="2.0**14"), device)
    name = "norm seen by the optimizer"
    assert proved.verdict == CONFIRMED
    assert proved.before[name] == pytest.approx(0.5 / 2**14, rel=1e-3)
    assert proved.after[name] == pytest.approx(0.5, rel=1e-3)
    assert proved.reference == {name: pytest.approx(0.5, rel=1e-3), "max_norm": 0.5}


def test_the_series_holds_the_iterations_that_were_not_skipped() -> None:
    series = outcome("AMP101", CLIP.format(optimizer="SGD(model.parameters())", scale="65536.")).series
    assert {name: len(values) for name, values in series.items()} == {"before": 5, "after": 5, "reference": 5}
    assert series["after"] == pytest.approx(series["reference"], rel=0.01)


def test_a_fix_that_repairs_nothing_is_refuted() -> None:
    text = CLIP.format(optimizer="SGD(model.parameters())", scale="65536.")
    assert outcome("AMP101", text, after=text).verdict == REFUTED


def test_a_fix_that_drops_the_clip_is_refuted() -> None:
    text = CLIP.format(optimizer="SGD(model.parameters())", scale="65536.")
    dropped = "\n".join(line for line in text.split("\n") if "clip_grad_norm_" not in line)
    assert outcome("AMP101", text, after=dropped).verdict == REFUTED


def test_the_same_seed_gives_the_same_outcome() -> None:
    text = CLIP.format(optimizer="Adam(model.parameters())", scale="65536.")
    assert outcome("AMP101", text) == outcome("AMP101", text)


def test_what_needs_a_closure_is_not_replayed() -> None:
    proved = outcome("AMP101", CLIP.format(optimizer="LBFGS(model.parameters())", scale="65536."))
    assert (proved.verdict, proved.reason) == (NOT_REPLAYABLE, "LBFGS needs a closure")


SCHEDULER = """
import torch

def train(model, loader, loss_fn):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()
"""


def test_an_injected_overflow_puts_an_ungated_scheduler_ahead_by_one() -> None:
    proved = outcome("AMP107", SCHEDULER)
    assert proved.verdict == CONFIRMED
    assert proved.series["before"] == (0, 0, 1, 1, 1, 1)
    assert proved.series["after"] == proved.series["reference"] == (0, 0, 0, 0, 0)


def test_a_scheduler_that_never_steps_is_no_fix() -> None:
    text = SCHEDULER.replace("        scheduler.step()\n", "        if False:\n            scheduler.step()\n")
    assert outcome("AMP107", SCHEDULER, after=text).verdict == REFUTED


def test_a_step_past_the_scaler_breaks_the_parameters() -> None:
    text = SCHEDULER.replace("scaler.step(optimizer)\n        scaler.update()", "optimizer.step()")
    text = text.replace("        scheduler.step()\n", "")
    proved = outcome("AMP104", text)
    assert proved.verdict == CONFIRMED
    assert proved.before["parameters after an overflow"] == "non-finite"
    assert proved.after["parameters after an overflow"] == "unchanged"


TWO_DEFECTS = """\
import torch

def train(model, loader, loss_fn):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(model(x), y)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(("code", "other"), [("AMP101", "AMP104 in line 12"), ("AMP104", "AMP101 in line 11")])
def test_where_two_defects_meet_each_fix_is_judged_with_the_other_one_repaired(
    code: str, other: str, newline: str
) -> None:
    source = Source("train.py", TWO_DEFECTS.replace("\n", newline))
    (diagnostic,) = findings(source, RULES[code])
    fixed = Source("train.py", apply(source, [diagnostic])[0])
    alone = replay(source, fixed, diagnostic, RULES[code], EMULATED, 0)
    assert alone.verdict == NOT_REPLAYABLE and len(alone.others) == 1
    proved = proof(source, diagnostic, RULES[code])
    assert (proved.verdict, proved.together) == (CONFIRMED, (other,))


def test_a_fix_that_repairs_nothing_is_refuted_in_company() -> None:
    source = Source("train.py", TWO_DEFECTS)
    (diagnostic,) = findings(source, RULES["AMP101"])
    useless = replace(diagnostic, fix=Fix("Do nothing", (Edit(0, 0, "# nothing\n"),)))
    assert proof(source, useless, RULES["AMP101"]).verdict == REFUTED


def test_a_scheduler_is_put_ahead_by_an_overflow_of_the_optimizer_whose_rate_it_sets() -> None:
    text = """\
import torch

class Agent:
    def __init__(self, critic, policy, cfg):
        self.scaler = torch.amp.GradScaler("cuda", enabled=cfg.amp)
        self.critic_optimizer = torch.optim.Adam(critic.parameters())
        self.policy_optimizer = torch.optim.Adam(policy.parameters())
        self.critic_scheduler = cfg.scheduler(self.critic_optimizer)

    def update(self, batches):
        for index, batch in enumerate(batches):
            with torch.autocast("cuda", dtype=torch.float16):
                critic_loss = self.critic(batch)
            self.critic_optimizer.zero_grad()
            self.scaler.scale(critic_loss).backward()
            self.scaler.step(self.critic_optimizer)
            if not index % self.cfg.delay:
                with torch.autocast("cuda", dtype=torch.float16):
                    policy_loss = self.policy(batch)
                self.policy_optimizer.zero_grad()
                self.scaler.scale(policy_loss).backward()
                self.scaler.step(self.policy_optimizer)
            self.scaler.update()
            self.critic_scheduler.step()
"""
    proved = outcome("AMP107", text)
    name = "scheduler steps beyond optimizer steps"
    assert (proved.verdict, proved.before[name], proved.after[name]) == (CONFIRMED, 1, 0)


UPDATED_BETWEEN = """\
import torch

def train(first, second, loader, loss_fn, a, b):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        a.zero_grad()
        b.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = loss_fn(first(x), second(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(a)
        torch.nn.utils.clip_grad_norm_(weights(first), 1.0)
        scaler.step(a)
        scaler.update()
        scaler.unscale_(b)
        torch.nn.utils.clip_grad_norm_(weights(second), 1.0)
        scaler.step(b)
        scaler.update()
"""


@pytest.mark.parametrize("whose", ["weights(first)", "first.parameters()", "a.param_groups[0]['params']"])
def test_a_clip_whose_owner_is_not_known_is_of_the_optimizer_that_steps_next(whose: str) -> None:
    """Taken for all, it would clip before the others are unscaled, and a right fix would be refuted."""
    text = UPDATED_BETWEEN.replace("weights(first)", whose)
    once = text.replace("scaler.step(a)\n        scaler.update()\n", "scaler.step(a)\n")
    # In what is replayed the scale does not move between the two, so that the defect cannot be seen.
    assert outcome("AMP109", text, after=once).verdict == NOT_OBSERVABLE
    unclipped = once.replace("        torch.nn.utils.clip_grad_norm_(weights(second), 1.0)\n", "")
    assert outcome("AMP109", text, after=unclipped).verdict == REFUTED


def test_what_the_code_calls_is_never_run(tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    text = CLIP.format(optimizer=f"SGD(model.parameters(), lr=open({str(trace)!r}, 'w').write('x'))", scale="65536.")
    assert outcome("AMP101", text).verdict == CONFIRMED
    assert not trace.exists()
