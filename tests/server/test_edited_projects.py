"""A project that somebody edits for a long time: each answer is the one that a fresh process gives."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

if importlib.util.find_spec("pygls") is None:
    pytest.skip("pygls is not installed", allow_module_level=True)

from amplint.diagnostics import FileReport
from amplint.engine.config import Overrides, SettingsResolver
from amplint.engine.report_codec import encode_report
from amplint.server.checks import ProjectChecks
from amplint.server.documents import OpenDocument, OpenPart

FILES = {
    "train.py": """\
        import torch
        from losses import Dice, focal
        from steps import clip, finish

        EPS = 1e-6


        def options(parser):
            parser.add_argument("--epochs", type=int, default=100)
            parser.add_argument("--clip", type=float, default=1.0)


        def train(model, loader, optimizer, scheduler, args):
            scaler = torch.amp.GradScaler("cuda")
            criterion = Dice(EPS)
            for step, (data, target) in enumerate(loader):
                optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    output = model(data)
                    loss = criterion(output, target) + focal(output, target)
                scaler.scale(loss).backward()
                scaler.unscale_(optimizer)
                clip(model, args.clip)
                if step % 50 == 0:
                    print(step, loss.item())
                finish(scaler, optimizer)
                scheduler.step()
        """,
    "losses.py": """\
        import torch
        import torch.nn.functional as F

        WEIGHT = 2.0


        class Dice(torch.nn.Module):
            def __init__(self, eps):
                super().__init__()
                self.eps = eps

            def forward(self, output, target):
                score = torch.sigmoid(output)
                union = (score * target).sum() + self.eps
                return -torch.log(score + 1e-8).mean() / union


        def focal(output, target):
            weights = torch.softmax(output, dim=1)
            return F.binary_cross_entropy(torch.sigmoid(output), target) * weights.mean() * WEIGHT
        """,
    "steps.py": """\
        import torch


        def clip(model, limit):
            torch.nn.utils.clip_grad_norm_(model.parameters(), limit)


        def finish(scaler, optimizer):
            scaler.step(optimizer)
            scaler.update()
        """,
    "run.py": """\
        import argparse
        import torch
        from train import options, train


        def main():
            parser = argparse.ArgumentParser()
            options(parser)
            model = torch.nn.Linear(4, 4)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
            train(model, [], optimizer, scheduler, parser.parse_args())


        if __name__ == "__main__":
            main()
        """,
}
SWAPS = (
    ("scaler.unscale_(optimizer)\n", "pass\n"),
    ("scaler.update()", "scaler.get_scale()"),
    ("scaler.scale(loss).backward()", "loss.backward()"),
    ("scaler.step(optimizer)", "optimizer.step()"),
    ("dtype=torch.float16", "dtype=torch.bfloat16"),
    ("scheduler.step()", "pass  # scheduler"),
    ("1e-6", "1e-4"),
    ("1e-8", "0.001"),
    ("default=100", "default=7"),
    ("step % 50", "step % 2"),
    ("print(step, loss.item())", "print(step)"),
    ("from losses import Dice, focal", "from losses import focal, Dice"),
    ("def clip(model, limit):", "def clip(model, limit, extra=None):"),
    ("WEIGHT = 2.0", "WEIGHT = 1e5"),
    ("torch.sigmoid(output), target)", "output, target)"),
    ("binary_cross_entropy(", "binary_cross_entropy_with_logits("),
    ("finish(scaler, optimizer)\n", "finish(scaler, optimizer)\n        scaler.update()\n"),
    ("model(data)", "model(data).float()"),
    ("import torch\n", "import torch\nimport os\n"),
)
EDITS = 10


class Step(NamedTuple):
    """The files of the project at one moment, and the one that the editor holds: the last one edited."""

    texts: dict[str, str]
    held: str


def edited(texts: dict[str, str], chance: random.Random) -> str:
    """One file after an edit, there or back; returns its name."""
    while True:
        name = chance.choice([*texts])
        before = text = texts[name]
        kind = chance.randrange(4)
        lines = text.splitlines(keepends=True)
        if kind == 0:
            at = chance.randrange(len(lines))
            indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())] if lines[at].strip() else ""
            lines.insert(at, f"{indent}{chance.choice(['# a comment', 'unused = 1', ''])}\n")
            text = "".join(lines)
        elif kind == 1:
            spare = [line for line in lines if "unused" in line or line.lstrip().startswith("#")]
            text = text.replace(chance.choice(spare), "", 1) if spare else text
        else:
            old, new = chance.choice(SWAPS)[:: chance.choice((1, -1))]
            text = text.replace(old, new, 1)
        if text != before:
            texts[name] = text
            return name


def plain(report: FileReport) -> str:
    return json.dumps([encode_report(report), report.error], sort_keys=True)


def answers(root: Path, step: Step, checks: ProjectChecks) -> list[tuple[str, str]]:
    """What is said about each file, of which an editor holds one and the others lie on the disk."""
    for name, text in step.texts.items():
        path = root / name
        if name != step.held and not (path.is_file() and path.read_text() == text):
            path.write_text(text)
    documents = {
        name: OpenDocument((root / name).as_uri(), root / name, text.encode(), (OpenPart((root / name).as_uri()),))
        for name, text in step.texts.items()
    }
    said = []
    for name, document in documents.items():
        checked = checks.check(document, [root], [documents[step.held]])
        assert checked is not None and not checked.fault
        said.append((name, plain(checked.report)))
    return said


def project_checks() -> ProjectChecks:
    return ProjectChecks(lambda: SettingsResolver(Overrides(select=("ALL",))))


def fresh_answers(root: Path, steps: list[Step]) -> list[list[tuple[str, str]]]:
    """What processes say that have looked at nothing before, one for each step."""
    code = "import test_edited_projects as me; me.answer_apart()"
    paths = [str(Path(__file__).parent), *sys.path]
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    given = json.dumps([str(root), steps]).encode()
    done = subprocess.run([sys.executable, "-c", code], input=given, env=settings, capture_output=True, check=True)
    return [[(name, text) for name, text in json.loads(line)] for line in done.stdout.splitlines()]


def answer_apart() -> None:
    """Answer each step on standard input in a process of its own, which starts out with imports and nothing else."""
    root, steps = json.load(sys.stdin)
    for number, step in enumerate(steps):
        child = os.fork()
        if child == 0:
            os.environ["AMPLINT_CACHE_DIR"] = f"{root}-cache-{number}"
            print(json.dumps(answers(Path(root), Step(*step), project_checks())), flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="starts a fresh process for each answer by a fork")
@pytest.mark.parametrize("seed", range(2))
def test_answers_are_those_of_a_fresh_process(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMPLINT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "project"
    root.mkdir()
    (root / "amplint.toml").write_text("")
    texts = {name: dedent(text) for name, text in FILES.items()}
    for name, text in texts.items():
        (root / name).write_text(text)
    chance = random.Random(seed)
    steps = [Step(dict(texts), chance.choice([*texts]))]
    for _ in range(EDITS):
        held = edited(texts, chance)
        steps.append(Step(dict(texts), held))
    expected = fresh_answers(root, steps)
    checks = project_checks()
    said = [answers(root, step, checks) for step in steps]
    for number, (step, mine, theirs) in enumerate(zip(steps, said, expected)):
        assert mine == theirs, f"step {number}, {step.held} edited:\n{step.texts[step.held]}"
    assert len(said) == len(expected)
    assert len({text for answer in said for name, text in answer if name == "train.py"}) > EDITS // 3
