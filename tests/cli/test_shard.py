"""`--shard`: the parts of a run together say what the whole run says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checkout import ROOT
from click.testing import CliRunner
from demo_run import SAFE, amplint, write

from amplint.cli.main import main

ENGINE = """\
import torch
from losses import compute


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for batch, target in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = compute(model(batch), target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
LOSSES = """\
import torch
from smoothing import smooth


def compute(output, target):
    return smooth(output @ output.T)
"""
SMOOTHING = """\
import torch


def smooth(value):
    return (value / (value.abs() + 1e-12)).mean()
"""


def found(*arguments: str) -> list[str]:
    """Each finding as a line of JSON, sorted."""
    done = CliRunner().invoke(main, ["check", *arguments, "--output-format", "jsonl", "--no-cache", "--select", "ALL"])
    assert done.exit_code in (0, 1), done.output
    return sorted(done.stdout.splitlines())


def without_note(line: str) -> str:
    """A finding without its note, which names a file that uses mixed precision where that is one of the run."""
    return json.dumps(json.loads(line) | {"note": None}, sort_keys=True)


@pytest.mark.parametrize("parts", [2, 5])
def test_what_callers_in_other_parts_give_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(4):
        folder = tmp_path / f"project{number}"
        folder.mkdir()
        for name, text in (("engine", ENGINE), ("losses", LOSSES), ("smoothing", SMOOTHING)):
            (folder / f"{name}.py").write_text(text)
    whole = found(".")
    assert "AMP302" in {json.loads(line)["code"] for line in whole}
    split = [found(".", "--shard", f"{part}/{parts}") for part in range(1, parts + 1)]
    assert sorted(sum(split, [])) == whole
    assert sum(map(bool, split)) == min(parts, 4), "the projects are spread"


def test_the_parts_of_the_fixtures_say_what_a_run_on_all_says() -> None:
    folder = str(ROOT / "fixtures" / "amp302_eps_underflow")
    more = str(ROOT / "fixtures" / "amp208_custom_function_without_amp")
    split = [found(folder, more, "--shard", f"{part}/3") for part in (1, 2, 3)]
    assert sorted(map(without_note, sum(split, []))) == sorted(map(without_note, found(folder, more)))


@pytest.mark.usefixtures("demo_rules")
def test_a_file_stays_in_its_part_when_others_come() -> None:
    write(**{f"file{number}": SAFE for number in range(20)})
    before = amplint("--shard", "1/2").stdout.splitlines()
    assert 0 < len(before) < 20
    write(another=SAFE, sub__more=SAFE)
    assert set(before) <= set(amplint("--shard", "1/2").stdout.splitlines())
    assert len(amplint("--shard", "1/1").stdout.splitlines()) == 22


@pytest.mark.usefixtures("demo_rules")
@pytest.mark.parametrize(
    ("written", "why"),
    [
        *[(written, "is not of the form I/N") for written in ("1", "1/", "/2", "a/b", "1/0", "-1/2", "1.5/2", "")],
        ("0/2", "of 2 parts there is no number 0"),
        ("3/2", "of 2 parts there is no number 3"),
    ],
)
def test_what_is_no_part_is_refused(written: str, why: str) -> None:
    write(a=SAFE)
    done = amplint("--shard", written)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert why in done.stderr


@pytest.mark.usefixtures("demo_rules")
def test_standard_input_has_no_parts() -> None:
    assert amplint("-", "--shard", "1/2", stdin=SAFE).exit_code == 2
