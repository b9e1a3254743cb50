"""What a file is found to do through the other files of its project."""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

import pytest

from amplint.checker import check_bytes
from amplint.config import Settings
from amplint.diagnostics import Applicability, Diagnostic, FileReport
from amplint.discovery import Found
from amplint.runner import RunOptions, run

LOOP = """
import torch
from {module} import {name}

def train(model, loader, optimizer, criterion):
    scaler = torch.amp.GradScaler("cuda")
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        scaler.scale(loss).backward()
        {call}
        scaler.step(optimizer)
        scaler.update()
"""
CLIPS = """
import torch

def clip(model, limit=1.0):
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
"""


def project(root: Path, **files: str) -> Path:
    """Files below a folder: `pkg_engine` is `pkg/engine.py`, and `pkg_init` the package itself."""
    for name, text in files.items():
        path = root / f"{name.replace('_', '/').replace('/init', '/__init__')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return root


def check(root: Path, path: str) -> FileReport:
    """The report on one file of a project."""
    return check_bytes(path, (root / path).read_bytes(), Settings(root), root / path)


def codes(root: Path, path: str) -> list[str]:
    report = check(root, path)
    assert not report.error
    return [each.code for each in report.diagnostics]


def only(report: FileReport) -> Diagnostic:
    (found,) = report.diagnostics
    return found


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


WRAPPER = """
import torch

class NativeScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, clip_grad=None, parameters=None):
        self._scaler.scale(loss).backward()
        if clip_grad is not None:
            self._scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(parameters, clip_grad)
        self._scaler.step(optimizer)
        self._scaler.update()
"""


def test_a_wrapper_class_of_another_file_is_understood(tmp_path: Path) -> None:
    main = """
        import torch
        from utils.misc import NativeScaler

        def train(model, loader, optimizer, criterion, scheduler):
            loss_scaler = NativeScaler()
            for data, target in loader:
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = criterion(model(data), target)
                loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
                scheduler.step()
                optimizer.zero_grad()
    """
    root = project(tmp_path, utils_misc=WRAPPER, train=main)
    assert codes(root, "train.py") == ["AMP107"]


def test_a_base_class_of_another_file_lends_its_methods(tmp_path: Path) -> None:
    base = """
        import torch

        class Base:
            def __init__(self, model, optimizer):
                self.model, self.optimizer = model, optimizer
                self.scaler = torch.amp.GradScaler("cuda")

            def backward(self, loss):
                self.scaler.scale(loss).backward()
    """
    main = """
        import torch
        from base import Base

        class Trainer(Base):
            def train(self, loader, criterion):
                for data, target in loader:
                    with torch.autocast("cuda", dtype=torch.float16):
                        loss = criterion(self.model(data), target)
                    self.optimizer.zero_grad()
                    self.backward(loss)
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                    self.scaler.step(self.optimizer)
                    self.scaler.update()
    """
    root = project(tmp_path, base=base, train=main)
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row) == ("AMP101", 12)
    assert [each.path for each in found.related] == [str(root / "base.py")]


def test_a_context_of_another_file_is_a_region(tmp_path: Path) -> None:
    helper = """
        import torch

        def half_autocast():
            return torch.autocast("cuda", dtype=torch.float16)
    """
    main = """
        import torch
        from contexts import half_autocast

        def train(model, loader, optimizer, criterion):
            for data, target in loader:
                with half_autocast():
                    loss = criterion(model(data), target)
                    optimizer.zero_grad()
                    loss.backward()
                optimizer.step()
    """
    root = project(tmp_path, contexts=helper, train=main)
    assert "AMP106" in codes(root, "train.py")


def test_a_defect_that_lies_wholly_in_another_file_is_said_there_only(tmp_path: Path) -> None:
    engine = LOOP.format(
        module="torch.nn.utils", name="clip_grad_norm_", call="clip_grad_norm_(model.parameters(), 1.0)"
    )
    main = """
        import torch
        from engine import train

        def main(model, loader, optimizer, criterion):
            scaler = torch.amp.GradScaler("cuda")
            train(model, loader, optimizer, criterion)
            optimizer.step()
            scaler.update()
    """
    root = project(tmp_path, engine=engine, main=main)
    assert codes(root, "engine.py") == ["AMP101"]
    assert codes(root, "main.py") == []


def test_an_imported_scaler_is_a_scaler(tmp_path: Path) -> None:
    common = """
        import torch

        amp = torch.amp.GradScaler("cuda")
    """
    text = LOOP.format(module="common", name="amp", call="optimizer.step()").replace(
        '    scaler = torch.amp.GradScaler("cuda")\n', ""
    )
    text = text.replace("        scaler.step(optimizer)\n", "").replace("scaler.", "amp.")
    root = project(tmp_path, common=common, train=text)
    assert codes(root, "train.py") == ["AMP104"]


def run_cached(root: Path, path: str = "train.py") -> list[str]:
    """The codes on one file, as a run of many files with a cache finds them."""
    found = [Found(each, os.fspath(each), Settings(root), False) for each in sorted(root.rglob("*.py"))]
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


def test_the_cache_keeps_what_did_not_change(tmp_path: Path) -> None:
    root = project(tmp_path, train=LOOP.format(module="utils", name="clip", call="clip(model)"), utils=CLIPS)
    project(root, **{f"filler{number}": "pass\n" for number in range(20)})
    before = only(check(root, "train.py")).related
    run_cached(root)
    run_cached(root)
    (cached,) = (root / ".amplint_cache").glob("amplint-*.json")
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


BARE = """
import torch
from helpers import advance, clip, propagate, turn

def train(model, loader, optimizer, scheduler, criterion):
    scaler = torch.amp.GradScaler("cuda")
    for data, target in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(data), target)
        {body}
        scaler.update()
"""
HELPERS = """
import torch

def propagate(loss):
    loss.backward()

def advance(opt):
    opt.step()

def turn(schedule):
    schedule.step()

def clip(gs, opt, model, limit):
    gs.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
"""


@pytest.mark.parametrize(
    ("code", "message", "body"),
    [
        ("AMP103", "`propagate(loss)` propagates a loss unscaled, although `scaler` steps the optimizer",
         "propagate(loss); scaler.step(optimizer)"),
        ("AMP104", "`advance(optimizer)` bypasses `scaler`, which scaled the gradients",
         "scaler.scale(loss).backward(); advance(optimizer)"),
        ("AMP107", "`turn(scheduler)` advances the schedule even when `scaler` has skipped the optimizer step",
         "scaler.scale(loss).backward(); scaler.step(optimizer); turn(scheduler)"),
        ("AMP110", "`clip(scaler, optimizer, model, 1.0)` unscales a second time",
         "scaler.scale(loss).backward(); scaler.unscale_(optimizer); clip(scaler, optimizer, model, 1.0)"
         "; scaler.step(optimizer)"),
    ],
)  # fmt: skip
def test_what_happens_in_another_file_is_said_at_the_call(tmp_path: Path, code: str, message: str, body: str) -> None:
    root = project(tmp_path, helpers=HELPERS, train=BARE.format(body=body))
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row, found.message, found.fix) == (code, 11, message, None)
    assert (found.related[-1].message, found.related[-1].path) == ("it happens here", str(root / "helpers.py"))
    assert codes(root, "helpers.py") == []


def test_a_region_around_a_call_into_another_file(tmp_path: Path) -> None:
    main = """
        import torch
        from helpers import propagate

        def train(model, loader, optimizer, criterion):
            for data, target in loader:
                optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.bfloat16):
                    loss = criterion(model(data), target)
                    propagate(loss)
                optimizer.step()
    """
    root = project(tmp_path, helpers=HELPERS, train=main)
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row, found.fix) == ("AMP201", 10, None)
    assert [each.message for each in found.related] == ["the region begins here", "it happens here"]


def test_a_float16_loss_that_another_file_propagates(tmp_path: Path) -> None:
    text = BARE.format(body="propagate(loss); optimizer.step()").replace("        scaler.update()\n", "")
    root = project(tmp_path, helpers=HELPERS, train=text.replace('    scaler = torch.amp.GradScaler("cuda")\n', ""))
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row) == ("AMP106", 10)
    assert found.fix is not None and found.fix.applicability is Applicability.DISPLAY


def test_a_parameter_is_what_the_calls_give_it(tmp_path: Path) -> None:
    helpers = """
        def advance(first, second):
            first.step()
            second.step()
    """
    text = BARE.format(body="scaler.scale(loss).backward(); scaler.unscale_(optimizer); advance(optimizer, scheduler)")
    text = text.replace("import advance, clip, propagate, turn", "import advance")
    root = project(tmp_path, helpers=helpers, train=text)
    assert codes(root, "train.py") == ["AMP104"]
    assert codes(root, "helpers.py") == []


def test_a_star_import_brings_what_it_must_have_brought(tmp_path: Path) -> None:
    text = BARE.format(body="scaler.scale(loss).backward(); advance(optimizer)")
    root = project(tmp_path, helpers=HELPERS, train=text.replace("import advance, clip, propagate, turn", "import *"))
    assert codes(root, "train.py") == ["AMP104"]


SAVING = """
import torch

def save(path, model, optimizer, epoch{more}):
    state = {{"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}}
    {keep}
    torch.save(state, path)
"""
KEEPS = "state['scaler'] = scaler.state_dict() if scaler else None"


@pytest.mark.parametrize(
    ("more", "keep", "call", "found"),
    [
        ("", "", "save('last.pt', model, optimizer, 3)", ["AMP114"]),
        (", scaler=None", KEEPS, "save('last.pt', model, optimizer, 3)", ["AMP114"]),
        (", scaler=None", KEEPS, "save('last.pt', model, optimizer, 3, scaler)", []),
    ],
)  # fmt: skip
def test_a_checkpoint_that_another_file_saves(
    tmp_path: Path, more: str, keep: str, call: str, found: list[str]
) -> None:
    helper = SAVING.format(more=more, keep=keep)
    root = project(tmp_path, ckpt=helper, train=LOOP.format(module="ckpt", name="save", call="pass") + f"    {call}\n")
    report = check(root, "train.py")
    assert [each.code for each in report.diagnostics] == found
    paths = {other.path for each in report.diagnostics for other in each.related}
    assert paths == ({"", str(root / "ckpt.py")} if found else set())


def test_a_scaler_that_another_object_holds(tmp_path: Path) -> None:
    state = """
        import torch

        class State:
            def __init__(self, model, optimizer):
                self.model, self.optimizer = model, optimizer
                self.gs = torch.amp.GradScaler("cuda")
    """
    main = """
        import torch
        from state import State

        def train(model, optimizer, loader, criterion):
            held = State(model, optimizer)
            for data, target in loader:
                held.optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = criterion(held.model(data), target)
                held.gs.scale(loss).backward()
                torch.nn.utils.clip_grad_norm_(held.model.parameters(), 1.0)
                held.gs.step(held.optimizer)
                held.gs.update()
    """
    root = project(tmp_path, state=state, train=main)
    assert codes(root, "train.py") == ["AMP101"]


def test_a_trainer_that_gets_its_scaler(tmp_path: Path) -> None:
    trainer = """
        import torch

        class Trainer:
            def __init__(self, model, o, gs, s):
                self.model, self.o, self.gs, self.s = model, o, gs, s

            def fit(self, loader, criterion):
                for data, target in loader:
                    self.o.zero_grad()
                    with torch.autocast("cuda", dtype=torch.float16):
                        loss = criterion(self.model(data), target)
                    self.gs.scale(loss).backward()
                    self.gs.step(self.o)
                    self.gs.update()
                    self.s.step()
    """
    main = """
        import torch
        from trainer import Trainer

        def main(model, loader, criterion):
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 100)
            trainer = Trainer(model, optimizer, torch.amp.GradScaler("cuda"), scheduler)
            trainer.fit(loader, criterion)
    """
    root = project(tmp_path, trainer=trainer, main=main)
    assert codes(root, "trainer.py") == []
    assert codes(root, "main.py") == ["AMP107"]


def test_a_method_that_an_inherited_one_calls_is_seen_where_it_is_called(tmp_path: Path) -> None:
    base = """
        import torch

        class Trainer:
            def __init__(self, model, optimizer):
                self.model, self.optimizer = model, optimizer
                self.scaler = torch.amp.GradScaler("cuda")

            def step(self, batch):
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = self.model(batch)
                self.optimizer.zero_grad()
                self.scaler.scale(loss).backward()
                self.after_backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()

            def after_backward(self):
                pass
    """
    main = """
        import torch
        from base import Trainer

        class Clipping(Trainer):
            def after_backward(self):
                {before}
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)

            @torch.no_grad()
            def evaluate(self, batch):
                with torch.autocast("cuda", dtype=torch.float16):
                    return self.model(batch)
    """
    root = project(
        tmp_path,
        base=base,
        train=main.format(before="pass"),
        right=main.format(before="self.scaler.unscale_(self.optimizer)"),
    )
    assert codes(root, "train.py") == ["AMP101"]
    assert codes(root, "right.py") == []
    assert codes(root, "base.py") == []


@pytest.mark.parametrize("test", ["kind == DEFAULT", "kind in (DEFAULT,)", "kind in 'abc'", "kind", "len(kind) > 2"])
def test_what_a_function_makes_may_depend_on_more_than_literals(test: str, tmp_path: Path) -> None:
    makers = f"""
        import torch

        DEFAULT = "plain"

        class Scaling:
            def __init__(self):
                self.scaler = torch.amp.GradScaler("cuda")

            def backward(self, loss):
                self.scaler.scale(loss).backward()

        def make(kind=1):
            if {test}:
                return Scaling()
            return None
    """
    main = """
        import torch
        from makers import make

        def train(model, loader, optimizer, criterion):
            loss_scaler = make(kind=3)
            for data, target in loader:
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = criterion(model(data), target)
                loss_scaler.backward(loss)
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
    """
    root = project(tmp_path, makers=makers, train=main)
    assert codes(root, "train.py") == []
