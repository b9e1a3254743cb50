"""Runs of amplint on notebooks: reports, bad input, settings, cache, replay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from notebook_harness import SETUP, TRAIN, TWO_CELLS, cell, fixed, notebook

from amplint.cli.main import main
from amplint.notebook import Notebook


def test_json_and_diff_speak_of_cells(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_text(TWO_CELLS)
    run = CliRunner().invoke(main, ["check", "--isolated", "--no-cache", "--output-format", "json", str(path)])
    (record,) = json.loads(run.stdout)
    assert (record["cell"], record["location"]) == (4, {"row": 6, "column": 5})
    assert record["fix"]["edits"][0]["cell"] == 4
    run = CliRunner().invoke(main, ["check", "--diff", "--isolated", "--no-cache", str(path)])
    assert f"+++ {path}:cell 4\n" in run.stdout
    assert "+    scaler.unscale_(optimizer)\n" in run.stdout
    assert path.read_text() == TWO_CELLS


def test_folders_are_walked_for_notebooks(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "nb.ipynb").write_text(TWO_CELLS)
    run = CliRunner().invoke(main, ["check", "--isolated", "--no-cache", "--output-format", "concise", str(tmp_path)])
    assert "nb.ipynb:cell 4:6:5: AMP101" in run.stdout


SAVING = """\
for epoch in range(9):
    train(epoch)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "x.pt")
    !ls -l *.pt
"""
UNFIXED = """\
with torch.autocast("cuda", dtype=torch.float64):
    evaluate(model)
"""
LOADING = """\
saved = torch.load("x.pt")
model.load_state_dict(saved["model"])
optimizer.load_state_dict(saved["optimizer"])
"""


def report(path: Path, form: str, *options: str) -> str:
    command = ["check", "--isolated", "--no-cache", "--output-format", form, "--color", "never", *options, str(path)]
    return CliRunner().invoke(main, command, catch_exceptions=False).stdout


def test_the_full_report_shows_cells_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    right = "def train(epoch):\n" + "".join(f"    {line}\n" for line in TRAIN.splitlines() if "clip" not in line)
    path.write_text(notebook(cell(SETUP), cell("# Go on", "markdown"), cell(LOADING), cell(right), cell(SAVING)))
    assert report(path, "full").splitlines()[1:] == f"""\
  --> {path}:cell 5:3:16
  2 |     train(epoch)
  3 |     torch.save({{"model": model.state_dict(), "optimizer": optimizer.state_dict()}}, "x.pt")
    |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  4 |     !ls -l *.pt
  --> {path}:cell 4:7:9
  6 |         scaler.scale(loss).backward()
  7 |         scaler.step(optimizer)
    |         ---------------------- the scaler goes with this optimizer
  8 |         scaler.update()
  note: a resumed run starts from the initial scale again: where that is too large, steps are skipped until it has come down
  fix: Save `scaler.state_dict()` and load it
      cell 3
      optimizer.load_state_dict(saved["optimizer"])
    + if "scaler" in saved:
    +     scaler.load_state_dict(saved["scaler"])
      cell 5
          train(epoch)
    -     torch.save({{"model": model.state_dict(), "optimizer": optimizer.state_dict()}}, "x.pt")
    +     torch.save({{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}}, "x.pt")
          !ls -l *.pt

""".splitlines()  # fmt: skip


@pytest.mark.parametrize("whole", [False, True])
def test_annotations_stand_at_the_lines_of_the_json(tmp_path: Path, whole: bool) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_text(notebook(cell("# Title", "markdown"), cell(SETUP), cell(TRAIN, whole=whole)))
    lines = path.read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if "torch.nn.utils" in text)
    assert f",line={line},endLine={line}::{path}:cell 3:6:5: AMP101" in report(path, "github")
    # Fixing moves what is left.
    path.write_text(notebook(cell(SETUP), cell(TRAIN + UNFIXED, whole=whole)))
    left = report(path, "github", "--fix")
    line = next(n for n, text in enumerate(path.read_text().splitlines(), 1) if "float64" in text)
    assert "unscale_" in path.read_text() and f",line={line},endLine={line}::" in left


def invalid(name: str) -> bytes:
    text = notebook(cell(SETUP), cell(TRAIN)).encode()
    return {
        "truncated": text[:-80],
        "merged": b"<<<<<<< ours\n" + text + b"=======\n" + text + b">>>>>>> theirs\n",
        "no notebook": b'{"GradScaler": "autocast"}',
        "cells are no list": b'{"cells": {"1": "GradScaler"}, "nbformat": 4}',
        "nbformat 3": b'{"worksheets": [{"cells": []}], "nbformat": 3, "name": "GradScaler"}',
        "a script": SETUP.encode(),
        "empty": b"",
        "Python 2": notebook(cell(SETUP), cell("print 'scaler'"), cell(TRAIN)).encode(),
        "prose in a cell": notebook(cell(SETUP), cell("It's late"), cell(TRAIN)).encode(),
        "latin-1": text.decode().encode("latin-1"),
        "UTF-16": text.decode().encode("utf-16"),
    }[name]


@pytest.mark.parametrize(
    "name",
    [
        "truncated", "merged", "no notebook", "cells are no list", "nbformat 3", "a script", "empty", "Python 2",
        "prose in a cell", "latin-1", "UTF-16",
    ],
)  # fmt: skip
@pytest.mark.parametrize("option", ["--fix", "--unsafe-fixes"])
def test_an_invalid_notebook_is_said_in_one_line_and_never_written(tmp_path: Path, name: str, option: str) -> None:
    bad, good = tmp_path / "bad.ipynb", tmp_path / "good.ipynb"
    bad.write_bytes(invalid(name))
    good.write_text(TWO_CELLS)
    command = ["check", "--isolated", "--no-cache", "--quiet", option, str(bad), str(good)]
    run = CliRunner().invoke(main, command, catch_exceptions=False)
    said = [line for line in (run.stdout + run.stderr).splitlines() if str(bad) in line]
    assert run.exit_code == 1 and f"{bad}:cell " in said[0] and ": AMP900 " in said[0]
    assert len(said) == 1
    assert bad.read_bytes() == invalid(name)
    assert ("unscale_" in good.read_text()) is (option == "--fix")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bad.ipynb", "good.ipynb"]


def test_stdin_may_be_a_notebook(tmp_path: Path) -> None:
    command = ["check", "--isolated", "--no-cache", "--stdin-filename", "deep/nb.ipynb", "-"]
    run = CliRunner().invoke(main, command, input=TWO_CELLS.encode())
    assert run.exit_code == 1 and run.stdout.startswith("deep/nb.ipynb:cell 4:6:5: AMP101 ")
    run = CliRunner().invoke(main, [*command[:2], "--fix", *command[2:]], input=TWO_CELLS.encode())
    assert run.exit_code == 0 and run.stdout == fixed(tmp_path, TWO_CELLS)


def test_settings_hold_for_notebooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "nb.ipynb").write_text(TWO_CELLS)
    (tmp_path / "src" / "old.ipynb").write_text(TWO_CELLS)
    (tmp_path / "src" / "train.py").write_text(Notebook.read(TWO_CELLS).text)
    settings = tmp_path / "amplint.toml"

    def found() -> list[str]:
        run = CliRunner().invoke(main, ["check", "--no-cache", "src"])
        return [line.partition(": ")[0] for line in run.stdout.splitlines()]

    assert found() == ["src/nb.ipynb:cell 4:6:5", "src/old.ipynb:cell 4:6:5", "src/train.py:14:5"]
    settings.write_text('per-file-ignores = { "*.ipynb" = ["AMP101"] }\n')
    assert found() == ["src/train.py:14:5"]
    settings.write_text('exclude = ["*.py", "old.*"]\n')
    assert found() == ["src/nb.ipynb:cell 4:6:5"]


def test_a_notebook_is_a_program_of_its_own(tmp_path: Path) -> None:
    model = "import torch\nfrom torch import nn\n\nnet = nn.Sequential(nn.Linear(512, 1001), nn.ReLU(), nn.Linear(1001, 512))\n"
    for name, text in (("nb.ipynb", notebook(cell(model))), ("net.py", model), ("amp.ipynb", TWO_CELLS)):
        (tmp_path / name).write_text(text)
    run = CliRunner().invoke(main, ["check", "--isolated", "--no-cache", "--select", "AMP401", str(tmp_path)])
    assert [Path(line.partition(":")[0]).name for line in run.stdout.splitlines()] == ["net.py"]
    (tmp_path / "nb.ipynb").write_text(notebook(cell(model), cell(SETUP), cell(TRAIN)))
    run = CliRunner().invoke(main, ["check", "--isolated", "--no-cache", "--select", "AMP401", str(tmp_path)])
    assert [Path(line.partition(":")[0]).name for line in run.stdout.splitlines()] == ["nb.ipynb", "net.py"]


def test_the_cache_knows_notebooks(tmp_path: Path) -> None:
    path = tmp_path / "nb.ipynb"
    command = ["check", "--isolated", "--cache-dir", str(tmp_path / "cache"), "--output-format", "jsonl", str(path)]

    def found() -> list[tuple[int, int, int]]:
        lines = CliRunner().invoke(main, command, catch_exceptions=False).stdout.splitlines()
        return [(one["cell"], one["location"]["row"], one["location"]["column"]) for one in map(json.loads, lines)]

    path.write_text(TWO_CELLS)
    assert found() == found() == [(4, 6, 5)]
    path.write_text(notebook(cell(SETUP), cell(TRAIN)))
    assert found() == found() == [(2, 6, 5)]
    path.write_text(TWO_CELLS.replace("torch.nn.utils.clip_grad_norm_", "print"))
    assert found() == found() == []


def test_a_fix_in_a_notebook_is_replayed(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "nb.ipynb"
    path.write_text(TWO_CELLS)
    options = ["--isolated", "--no-cache", "--device", "cuda-emulated", str(path)]
    run = CliRunner().invoke(main, ["verify", *options], catch_exceptions=False)
    assert run.exit_code == 0 and f"{path}:cell 4:6:5: AMP101 confirmed on cuda-emulated" in run.stdout
    assert path.read_text() == TWO_CELLS
    run = CliRunner().invoke(main, ["check", "--fix", "--verify", *options], catch_exceptions=False)
    assert run.exit_code == 0 and path.read_text() == fixed(tmp_path, TWO_CELLS)
