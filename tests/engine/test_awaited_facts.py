"""Files that only a guess looks at: they are parsed where their project has what the guess rests on, and else not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from project import project as written

from amplint.diagnostics import FLOAT16_TRAINING, FileReport
from amplint.engine import linter
from amplint.engine.config import Overrides, SettingsResolver
from amplint.engine.discovery import FoundFile, discover
from amplint.engine.neighbours import project_files, project_of
from amplint.engine.relevance import awaited, matters
from amplint.engine.runner import RunOptions, run
from amplint.engine.waiting import FEW
from amplint.source import Source

UNCACHED = RunOptions(jobs=1, no_cache=True)
LAYERS = """
import torch

class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.query = torch.nn.Linear(8, 8)

    def forward(self, x, mask):
        scores = self.query(x) @ x.transpose(-2, -1)
        return scores.masked_fill(mask, -1e9).softmax(-1)
"""
TRAINS = """
import torch

def train(model, loader, optimizer, scaler):
    for x, mask in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.{dtype}):
            loss = model(x, mask).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
FLOAT16, BFLOAT16 = (TRAINS.format(dtype=dtype) for dtype in ("float16", "bfloat16"))


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that a run in this process reads in full, as it goes on."""
    names: list[str] = []
    lint = linter.lint_source

    def noted(source: Source, *rest: object) -> FileReport:
        names.append(Path(source.path).name)
        return lint(source, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(linter, "lint_source", noted)
    return names


def laid_out(root: Path, **files: str) -> Path:
    """A project of these files, and of so many others that a run on it is not one on few files."""
    others = {f"other{number:02}": "x = 1\n" for number in range(FEW)}
    return written(root, **files, **others)


def found(*named: Path, options: RunOptions = UNCACHED) -> list[str]:
    """File and code of each finding of a run on these paths."""
    resolver = SettingsResolver(Overrides(select=("AMP303", "AMP900")))
    paths = [str(each) for each in named]
    files = [each for each in discover(paths, resolver) if isinstance(each, FoundFile)]

    def beside() -> list[FoundFile]:
        return project_files(files, paths, resolver)

    reports = [*run(files, options, project=beside, project_of=project_of(paths))]
    return [f"{Path(report.path).name} {each.code}" for report in reports for each in report.diagnostics]


def test_a_file_is_not_parsed_for_a_guess_where_nobody_trains_in_float16(tmp_path: Path, parsed: list[str]) -> None:
    assert found(laid_out(tmp_path, layers=LAYERS, train=BFLOAT16)) == []
    assert parsed == ["train.py"]


@pytest.mark.parametrize("name", ["a", "z"])
def test_it_is_parsed_where_somebody_does_whichever_file_comes_first(
    tmp_path: Path, parsed: list[str], name: str
) -> None:
    assert found(laid_out(tmp_path, layers=LAYERS, **{name: FLOAT16})) == ["layers.py AMP303"]
    assert parsed == [f"{name}.py", "layers.py"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_cold_and_warm_runs_say_the_same_while_the_fact_comes_and_goes(
    tmp_path: Path, parsed: list[str], jobs: int
) -> None:
    root = laid_out(tmp_path / "project", layers=LAYERS, train=BFLOAT16)
    kept = RunOptions(jobs=jobs, cache_dir=tmp_path / "cache")
    for text, expected in ((BFLOAT16, []), (FLOAT16, ["layers.py AMP303"]), (BFLOAT16, [])) * 2:
        (root / "train.py").write_text(text)
        assert found(root, options=kept) == expected
        assert found(root, options=kept) == found(root) == expected
    assert parsed.count("layers.py") == 1 + 2  # once for the cache, and each time without one


def test_what_a_broken_file_that_waits_is_told_needs_the_fact_as_well(tmp_path: Path) -> None:
    broken = LAYERS + "x = (\n"
    kept = RunOptions(jobs=1, cache_dir=tmp_path / "cache")
    root = laid_out(tmp_path / "project", layers=broken, train=FLOAT16)
    assert found(root, options=kept) == ["layers.py AMP900"]
    (root / "train.py").write_text(BFLOAT16)
    assert found(root, options=kept) == found(root) == []


def test_one_project_says_nothing_about_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = laid_out(tmp_path / "one", layers=LAYERS), laid_out(tmp_path / "other", train=FLOAT16)
    monkeypatch.chdir(one)
    assert found(one, other) == []
    assert found(tmp_path) == ["layers.py AMP303"]


@pytest.mark.parametrize("mark", ["setup.py", ""])
def test_folders_below_a_mark_or_the_current_folder_are_one_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    if mark:
        (tmp_path / mark).touch()
    one, other = laid_out(tmp_path / "one", layers=LAYERS), laid_out(tmp_path / "other", train=FLOAT16)
    monkeypatch.chdir(one if mark else tmp_path)
    assert found(one, other) == ["layers.py AMP303"]


@pytest.mark.parametrize("count", [1, FEW + 1])
def test_the_rest_of_the_project_is_asked_where_only_a_part_of_it_was_named(tmp_path: Path, count: int) -> None:
    (tmp_path / "setup.py").touch()
    laid_out(tmp_path / "scripts", train=FLOAT16)
    models = laid_out(tmp_path / "models", **{f"layers{number:02}": LAYERS for number in range(count)})
    assert found(models) == [f"layers{number:02}.py AMP303" for number in range(count)]
    (tmp_path / "scripts" / "train.py").write_text(BFLOAT16)
    assert found(models) == []


MASKS = b"x = scores.masked_fill(mask, -1e9)\n"


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        (MASKS, True),
        (MASKS + b"y = 1  # noqa: E501\n", True),
        (MASKS + b"with torch.autocast('cuda'):\n    pass\n", False),
        # What may establish facts by a name that it imports, or enter a region that another file makes.
        (MASKS + b"loss.backward()\n", False),
        (MASKS + b"from ours import half_region\nwith half_region():\n    pass\n", False),
        (MASKS + b"from ours import in_half\n\n@in_half\ndef f():\n    pass\n", False),
        # What other rules or the comments of suppressions ask for.
        (MASKS + b"opt_state = apex.scale_loss(1)\n", False),
        (MASKS + b"y = 1  # noqa: AMP303\n", False),
    ],
)
def test_only_what_nothing_else_speaks_of_waits(tmp_path: Path, text: bytes, waits: bool) -> None:
    settings = SettingsResolver(Overrides()).for_file(tmp_path / "x.py")
    assert matters(text, settings)
    assert awaited(text, settings, "x.py") == (FLOAT16_TRAINING if waits else "")
    assert awaited(text, settings, "x.ipynb") == ""


def test_the_file_of_a_text_that_an_editor_holds_does_not_wait(tmp_path: Path) -> None:
    from amplint.engine.runner import check_text

    (tmp_path / "setup.py").touch()
    root, resolver = laid_out(tmp_path, layers=LAYERS, train=FLOAT16), SettingsResolver(Overrides())
    files = [each for each in discover([str(root)], resolver) if isinstance(each, FoundFile)]
    (item,) = (each for each in files if each.path.name == "layers.py")
    beside: Callable[[], list[FoundFile]] = lambda: project_files([item], [item.display], resolver)  # noqa: E731
    report = check_text(item, LAYERS.encode(), UNCACHED, project=beside)
    assert [each.code for each in report.diagnostics] == ["AMP303"]
