"""What a file is found to do through functions of other files: imports, the cache, fixes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from project import CLIPS, LOOP, check, codes, only, project

from amplint.engine.checker import check_bytes, withdraw
from amplint.engine.config import Settings
from amplint.engine.discovery import FoundFile
from amplint.engine.runner import RunOptions, run


def test_a_clip_in_another_file_is_found_at_the_call(tmp_path: Path) -> None:
    root = project(tmp_path, utils=CLIPS, train=LOOP.format(module="utils", name="clip", call="clip(model, 1.0)"))
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row) == ("AMP101", 12)
    place = found.related[-1]
    assert (place.path, place.range.start.row) == (str(root / "utils.py"), 5)
    assert found.fix is not None
    assert "scaler.unscale_(optimizer)" in found.fix.edits[0].replacement
    assert codes(root, "utils.py") == []


def test_what_the_helper_does_rightly_is_silent(tmp_path: Path) -> None:
    helper = """
        import torch

        def clip(scaler, optimizer, model):
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    """
    root = project(
        tmp_path, utils=helper, train=LOOP.format(module="utils", name="clip", call="clip(scaler, optimizer, model)")
    )
    assert codes(root, "train.py") == codes(root, "utils.py") == []


@pytest.mark.parametrize(
    ("files", "main", "module"),
    [
        ({"pkg_init": "", "pkg_utils": CLIPS}, "pkg/train.py", ".utils"),
        ({"pkg_init": "", "pkg_utils": CLIPS}, "pkg/train.py", "pkg.utils"),
        ({"pkg_init": "from .utils import clip\n", "pkg_utils": CLIPS}, "train.py", "pkg"),
        ({"pkg_init": "from .utils import *\n", "pkg_utils": CLIPS}, "train.py", "pkg"),
        ({"pkg_init": "from pkg.sub.utils import clip as clip\n", "pkg_sub_init": "", "pkg_sub_utils": CLIPS}, "train.py", "pkg"),
        ({"src_pkg_init": "", "src_pkg_utils": CLIPS}, "scripts/train.py", "pkg.utils"),
        ({"pkg_init": "", "pkg_utils": CLIPS}, "scripts/deep/train.py", "pkg.utils"),
        ({"pkg_init": "", "pkg_sub_init": "", "pkg_utils": CLIPS}, "pkg/sub/train.py", "..utils"),
        ({"pkg_utils": CLIPS}, "train.py", "pkg.utils"),
    ],
)  # fmt: skip
def test_imports_are_followed(tmp_path: Path, files: dict[str, str], main: str, module: str) -> None:
    root = project(tmp_path, **files)
    path = root / main
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(LOOP.format(module=module, name="clip", call="clip(model)"))
    assert codes(root, main) == ["AMP101"]


def test_a_module_is_called_through_its_name(tmp_path: Path) -> None:
    text = LOOP.format(module="pkg", name="utils", call="utils.clip(model)")
    root = project(tmp_path, pkg_init="", pkg_utils=CLIPS, train=text)
    assert codes(root, "train.py") == ["AMP101"]


def test_nothing_outside_the_root_is_read(tmp_path: Path) -> None:
    text = LOOP.format(module="utils", name="clip", call="clip(model)")
    project(tmp_path, utils=CLIPS, inner_train=text)
    assert codes(tmp_path / "inner", "train.py") == []
    assert codes(tmp_path, "inner/train.py") == ["AMP101"]


def run_cached(root: Path, path: str = "train.py") -> list[str]:
    """The codes on one file, as a run of many files with a cache finds them."""
    found = [FoundFile(each, os.fspath(each), Settings(root), False) for each in sorted(root.rglob("*.py"))]
    reports = {report.path: report for report in run(found, RunOptions(jobs=1))}
    return [each.code for each in reports[str(root / path)].diagnostics]


def test_the_cache_sees_a_helper_change_come_and_go(tmp_path: Path) -> None:
    root = project(tmp_path, train=LOOP.format(module="utils", name="clip", call="clip(model)"))
    project(root, **{f"filler{number}": "pass\n" for number in range(20)})
    assert run_cached(root) == []
    project(root, utils=CLIPS)
    assert run_cached(root) == ["AMP101"]
    assert run_cached(root) == ["AMP101"]
    project(root, utils=CLIPS.replace("clip_grad_norm_", "get_total_norm"))
    assert run_cached(root) == []
    (root / "utils.py").unlink()
    project(root, utils_init=CLIPS)
    assert run_cached(root) == ["AMP101"]


def test_the_cache_keeps_what_did_not_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMPLINT_CACHE_DIR", str(tmp_path / "cache"))
    root = project(tmp_path, train=LOOP.format(module="utils", name="clip", call="clip(model)"), utils=CLIPS)
    project(root, **{f"filler{number}": "pass\n" for number in range(20)})
    before = only(check(root, "train.py")).related
    run_cached(root)
    run_cached(root)
    (cached,) = (tmp_path / "cache").glob("*/*.cache")
    held = cached.read_bytes()
    assert run_cached(root) == ["AMP101"]
    assert cached.read_bytes() == held
    assert before[-1].path == str(root / "utils.py")


TIMM = """
import torch
from timm.utils import NativeScaler, dispatch_clip_grad

def train(model, loader, optimizer, criterion, scheduler):
    scaler = torch.amp.GradScaler("cuda")
    for data, target in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        dispatch_clip_grad(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

def train_wrapped(model, loader, optimizer, criterion, scheduler):
    loss_scaler = NativeScaler()
    for data, target in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        optimizer.zero_grad()
        loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
        scheduler.step()
"""


def test_wrappers_of_widely_used_libraries_are_known(tmp_path: Path) -> None:
    root = project(tmp_path, train=TIMM)
    report = check(root, "train.py")
    assert [(each.code, each.range.start.row) for each in report.diagnostics] == [("AMP101", 12), ("AMP107", 23)]
    assert not any("wrappers" in other.path for each in report.diagnostics for other in each.related)


def test_a_project_may_say_what_a_library_does(tmp_path: Path) -> None:
    text = LOOP.format(module="library.amp", name="clip", call="clip(model)")
    root = project(tmp_path, train=text, stubs_library=CLIPS)
    assert codes(root, "train.py") == []
    settings = Settings(root, wrappers=(("library.amp", "stubs/library.py"),))
    report = check_bytes("train.py", (root / "train.py").read_bytes(), settings, root / "train.py")
    report = withdraw(report, report.facts)
    assert only(report).code == "AMP101"
    assert only(report).related[-1].path == str(root / "stubs/library.py")


def test_fixes_stay_in_the_file_that_they_mend(tmp_path: Path) -> None:
    helper = """
        import torch

        def backward(scaler, loss):
            scaler.scale(loss).backward()
    """
    text = LOOP.format(module="utils", name="backward", call="backward(scaler, loss)").replace(
        "        scaler.scale(loss).backward()\n", ""
    )
    root = project(tmp_path, utils=helper, train=text.replace("scaler.step(optimizer)", "optimizer.step()"))
    found = only(check(root, "train.py"))
    assert (found.code, found.fix) == ("AMP104", None)
    assert found.related[0].path == str(root / "utils.py")


def test_many_star_imports_of_each_other_cost_little(tmp_path: Path) -> None:
    names = [f"part{number}" for number in range(12)]
    stars = "".join(f"from pkg.{name} import *\n" for name in names)
    parts = {f"pkg_{name}": f"{stars}\ndef backward():\n    pass\n" for name in names}
    train = LOOP.format(module="pkg", name="tools", call="tools.deep.clip(model)")
    root = project(tmp_path, pkg_init=stars, **parts, train=train)
    assert codes(root, "train.py") == []


PENALTY = """
import torch

def {name}(scores, images):
    (gradient,) = torch.autograd.grad(scores.sum(), images, create_graph=True)
    return gradient.pow(2).sum(), gradient.detach()
"""
PENALISED = """
import torch
from terms import {name}

def train(critic, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for images in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype={dtype}):
            term, _ = {name}(critic(images), images)
        scaler.scale(term).backward()
        scaler.step(optimizer)
        scaler.update()
"""


@pytest.mark.parametrize("name", ["path_regularize", "r1_penalty", "length_regularizer"])
def test_a_penalty_that_another_file_computes_is_found_at_the_call(tmp_path: Path, name: str) -> None:
    terms = PENALTY.format(name=name)
    root = project(tmp_path, terms=terms, train=PENALISED.format(name=name, dtype="torch.float16"))
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row) == ("AMP116", 10)
    assert (found.related[-1].path, found.related[-1].range.start.row) == (str(root / "terms.py"), 5)
    wide = project(tmp_path / "wide", terms=terms, train=PENALISED.format(name=name, dtype="torch.bfloat16"))
    assert "AMP116" not in codes(wide, "train.py")
