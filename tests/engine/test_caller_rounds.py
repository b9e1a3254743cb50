"""Files are checked again with what their callers give: which of them, what stays of the first check, what is kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from loss_and_loop import LOSSES, NUMERICS, engine
from project import found_in, project

from amplint.engine.config import Overrides, Settings, SettingsResolver
from amplint.engine.discovery import FoundFile, discover
from amplint.engine.relevance import is_concerned
from amplint.engine.runner import RunOptions, check_text, run


def files_of(root: Path) -> list[FoundFile]:
    resolver = SettingsResolver(Overrides(select=NUMERICS))
    return [item for item in discover([str(root)], resolver) if isinstance(item, FoundFile)]


DEPRECATED = """
import torch
import torch.nn.functional as F

scaler = torch.cuda.amp.GradScaler(){comment}

def bce(out, y):
    return F.binary_cross_entropy(torch.sigmoid(out), y)
"""


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("", {"losses.py:5 AMP209", "losses.py:8 AMP304"}),
        ("  # noqa: AMP209, AMP103", {"losses.py:5 AMP901", "losses.py:8 AMP304"}),
    ],
)
def test_what_was_found_without_callers_stays(tmp_path: Path, comment: str, expected: set[str]) -> None:
    losses = DEPRECATED.format(comment=comment)
    root = project(tmp_path, losses=losses, engine=engine("bce(model(x), y)", "from losses import bce"))
    assert found_in(root, "losses.py") == expected


def test_what_is_no_text_is_not_looked_at_again(tmp_path: Path) -> None:
    root = project(tmp_path, engine=engine("bce(model(x), y)", "from losses import bce"))
    (root / "losses.py").write_bytes(LOSSES.encode() + b"# \xe9\n")
    assert found_in(root, "engine.py") == set()
    assert found_in(root) == set()


@pytest.mark.parametrize("text", ["x.exp_()", "x.log()", "x ** power", "2 ** x", "(a + b) ** -0.5", "x **= 2"])
def test_a_file_is_looked_at_for_what_callers_may_break(tmp_path: Path, text: str) -> None:
    assert is_concerned(text.encode(), Settings(tmp_path), tmp_path / "a.py")


@pytest.mark.parametrize(
    "text", ["f(a, **options)", "def f(\n    *, **options): ...", "x ** 2", "nn.init.normal_(x)", "clip_grad_norm_(x)"]
)
def test_a_file_is_not_looked_at_for_other_reasons(tmp_path: Path, text: str) -> None:
    assert not is_concerned(text.encode(), Settings(tmp_path), tmp_path / "a.py")


def test_the_cache_knows_what_callers_give(tmp_path: Path) -> None:
    root = project(tmp_path / "project", losses=LOSSES, engine=engine("bce(model(x), y)", "from losses import bce"))

    def codes() -> list[str]:
        reports = run(files_of(root), RunOptions(1, tmp_path / "cache"))
        return [each.code for report in reports for each in report.diagnostics]

    assert codes() == codes() == ["AMP304"]
    project(
        root, engine=engine("bce(model(x), y)", "from losses import bce").replace("float16", "float16, enabled=False")
    )
    assert codes() == codes() == []


def test_a_run_after_an_edit_says_where_the_caller_is_now(tmp_path: Path) -> None:
    caller, options = engine("bce(model(x), y)", "from losses import bce"), RunOptions(1, tmp_path / "cache")
    root = project(tmp_path / "project", losses=LOSSES, engine=caller)

    def rows() -> list[int]:
        reports = run(files_of(root), options)
        return [half.range.start.row for report in reports for each in report.diagnostics for half in each.related]

    assert rows() == [8]
    edited = "# an edit\n" + caller
    (item,) = (each for each in files_of(root) if each.path.name == "engine.py")
    others = [each for each in files_of(root) if each.path != item.path]
    assert not check_text(item, edited.encode(), options, others=others).diagnostics
    project(root, engine=edited)
    assert rows() == [9]
