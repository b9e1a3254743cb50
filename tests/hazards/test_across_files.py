"""What a file is found to do through the other files of its project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from project import LOOP, check, codes, only, project

from amplint.diagnostics import Diagnostic
from amplint.engine.checker import check_bytes
from amplint.engine.config import Settings
from amplint.engine.discovery import FoundFile
from amplint.engine.runner import RunOptions, run

CLIPS = """
import torch

def clip(model, limit=1.0):
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
"""


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


@pytest.mark.parametrize(("precision", "found"), [('"fp16"', ["AMP101"]), ('"fp32"', []), ("args.precision", [])])
def test_a_project_may_say_what_drives_a_class(precision: str, found: list[str], tmp_path: Path) -> None:
    wrapper = """
        import torch

        def Engine(precision="fp32"):
            if precision == "fp16":
                return Scaling()

        class Scaling:
            pass

        def Module(engine: Engine):
            return Driven

        class Driven:
            def iteration(self, batch, optimizer):
                scaler = torch.amp.GradScaler("cuda")
                loss = self.forward(batch)
                scaler.scale(loss).backward()
                self.after_backward()
                scaler.step(optimizer)
                scaler.update()

            def after_backward(self):
                pass
    """
    train = f"""
        import torch
        from library.amp import Engine, Module

        class Net(Module):
            def after_backward(self):
                torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)

        engine = Engine(precision={precision})
        engine.fit(Net(), scaler=None)
    """
    root = project(tmp_path, train=train, says=wrapper)
    settings = Settings(root, wrappers=(("library.amp", "says.py"),))
    report = check_bytes("train.py", (root / "train.py").read_bytes(), settings, root / "train.py")
    assert [each.code for each in report.diagnostics] == found


def test_a_helper_that_is_called_three_times_is_one_finding(tmp_path: Path) -> None:
    train = LOOP.format(module="utils", name="clip", call="clip(model, 1.0)").replace(
        "clip(model, 1.0)\n", "clip(model, 1.0)\n        clip(model, 2.0)\n        clip(model, 3.0)\n"
    )
    root = project(tmp_path, utils=CLIPS, train=train)
    found = only(check(root, "train.py"))
    also = [place.range.start.row for place in found.related if place.message == "also here"]
    assert (found.range.start.row, also) == (12, [13, 14])


def test_comments_silence_the_places_of_one_finding_one_by_one(tmp_path: Path) -> None:
    train = LOOP.format(module="utils", name="clip", call="clip(model, 1.0)").replace(
        "clip(model, 1.0)\n",
        "clip(model, 1.0)  # noqa: AMP101\n        clip(model, 2.0)\n        clip(model, 3.0)  # noqa: AMP101\n",
    )
    root = project(tmp_path, utils=CLIPS, train=train)
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row) == ("AMP101", 13)
    assert not any(place.message == "also here" for place in found.related)
    (root / "train.py").write_text((root / "train.py").read_text().replace("2.0)\n", "2.0)  # noqa\n"))
    assert codes(root, "train.py") == []


SCALE = """
import torch

def clip(model, limit, times):
    torch.nn.utils.clip_grad_norm_(model.parameters(), limit * times)

def divide(model, by):
    for param in model.parameters():
        if param.grad is not None:
            param.grad.div_(by)

def limit_of(scaler, limit):
    return limit * scaler.get_scale()
"""


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("clip", "clip(model, 1.0, scaler.get_scale())"),
        ("divide", "divide(model, scaler.get_scale()); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),
        ("limit_of", "torch.nn.utils.clip_grad_norm_(model.parameters(), limit_of(scaler, 1.0))"),
    ],
)
def test_the_scale_is_followed_into_another_file(tmp_path: Path, name: str, call: str) -> None:
    root = project(tmp_path, utils=SCALE, train=LOOP.format(module="utils", name=name, call=call))
    assert codes(root, "train.py") == codes(root, "utils.py") == []


def test_a_scaler_of_another_framework_in_another_file_is_left_alone(tmp_path: Path) -> None:
    own = """
        import paddle

        class QuietScaler(paddle.amp.GradScaler):
            pass
    """
    train = """
        from own import QuietScaler

        def train(model, loader, loss_fn, optimizer):
            scaler = QuietScaler()
            for x, y in loader:
                scaler.scale(loss_fn(model(x), y)).backward()
                model.clip_grad_norm_(1.0)
                scaler.step(optimizer)
    """
    root = project(tmp_path, own=own, train=train)
    assert codes(root, "train.py") == []


NORM = """
import torch

def grad_norm(parameters):
    total = 0.0
    for parameter in parameters:
        total += parameter.grad.norm(2).item() ** 2
    return total**0.5
"""

LOGGER = """
import numpy

loggers = {}

class GradientLogger:
    def __init__(self, writer):
        self.writer = writer

    def log_grads(self, step, model):
        norms = [parameter.grad.norm().item() for parameter in model.parameters()]
        for statistic in ("max", "mean"):
            self.writer.add_scalar(statistic, getattr(numpy, statistic)(norms), step)

def init(names, writer):
    global loggers
    loggers = {name: GradientLogger(writer) for name in names}

def log_grads_of(step, model, name="train"):
    loggers[name].log_grads(step, model)
"""


@pytest.mark.parametrize("module", ["common.log", "common.deep.log"])
def test_a_folder_without_init_is_a_package(tmp_path: Path, module: str) -> None:
    train = LOOP.format(module=module, name="log_grads_of", call="log_grads_of(0, model)")
    root = project(tmp_path, **{module.replace(".", "_"): LOGGER}, train=train)
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row) == ("AMP102", 12)
    assert found.related[-1].path == str(root / f"{module.replace('.', '/')}.py")


def test_after_another_backward_pass_a_helper_does_another_defect(tmp_path: Path) -> None:
    again = """
        optimizer.zero_grad()
        scaler.scale(criterion(model(target), data)).backward()
        print(grad_norm(model.parameters()))
        scaler.step(optimizer)
        scaler.update()
    """
    train = LOOP.format(module="utils", name="grad_norm", call="print(grad_norm(model.parameters()))")
    root = project(tmp_path, utils=NORM, train=train.rstrip() + again)
    found = check(root, "train.py").diagnostics
    assert [(each.code, each.range.start.row) for each in found] == [("AMP102", 12), ("AMP102", 17)]
    assert codes(root, "utils.py") == []


TRAINER = """
import torch

class HookBase:
    trainer = None

class Trainer:
    def __init__(self, model, optimizer, grad_scaler=None):
        self.model, self.optimizer, self._hooks = model, optimizer, []
        self.grad_scaler = torch.amp.GradScaler("cuda") if grad_scaler is None else grad_scaler

    def run_step(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.model(batch)
        self.optimizer.zero_grad()
        self.grad_scaler.scale(loss).backward()
        self.grad_scaler.step(self.optimizer)
        self.grad_scaler.update()
"""

HOOK = """
from {module} import HookBase

class Schedule(HookBase):
    def {method}(self):
        self.trainer.scheduler.step()
"""


@pytest.mark.parametrize(
    ("module", "method", "found"),
    [
        (".loop", "after_step", ["AMP107"]),
        ("pkg.loop", "after_train_iter", ["AMP107"]),
        ("pkg", "after_step", ["AMP107"]),
        (".loop", "after_epoch", []),
        ("detectron2.engine", "after_step", []),
        ("lightning", "on_train_batch_end", []),
    ],
)
def test_a_hook_of_a_trainer_in_another_file(tmp_path: Path, module: str, method: str, found: list[str]) -> None:
    hook = HOOK.format(module=module, method=method)
    files = {"pkg_init": "from .loop import HookBase\n", "pkg_loop": TRAINER, "pkg_hooks": hook}
    root = project(tmp_path, **files)
    assert codes(root, "pkg/hooks.py") == found


AVERAGE = """
import copy

class Average:
    def __init__(self, model):
        self.model = copy.deepcopy(model).eval()
        self.model.half()
"""

SAVES = """
import torch
{imports}

def train(model, loader, optimizer, scaler):
    average = {average}(model)
    for batch in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    torch.save({{"model": average.model, "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict()}}, "last.pt")
"""


@pytest.mark.parametrize(
    ("imports", "average"),
    [
        ("from tools.averages import Average", "Average"),
        ("from tools import averages", "averages.Average"),
        ("from tools.all import *", "averages.Average"),
    ],
)
def test_an_average_of_another_file_is_kept_in_half(tmp_path: Path, imports: str, average: str) -> None:
    names = "from . import averages\nSCALER = 'GradScaler'\n"
    files = {"tools_init": "", "tools_averages": AVERAGE, "tools_all": names}
    root = project(tmp_path, **files, train=SAVES.format(imports=imports, average=average))
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row) == ("AMP308", 14)
    assert found.related[-1].path == str(root / "tools/averages.py")
    assert codes(root, "tools/averages.py") == []


MODULES = """
import lightning.pytorch as pl
import torch

class Net(pl.LightningModule):
    def on_after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)

class Manual(pl.LightningModule):
    automatic_optimization = False

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        opt.zero_grad()
        self.manual_backward(self(batch).mean())
        self.clip_gradients(opt, gradient_clip_val=0.5)
        opt.step()

class Careful(pl.LightningModule):
    def on_before_optimizer_step(self, optimizer):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)

class Norms(pl.Callback):
    def on_after_backward(self, trainer, module):
        module.log("norm", sum(param.grad.norm() for param in module.parameters()))
"""
TRAINING = """
import lightning.pytorch as pl
from modules import Careful, Manual, Net, Norms

def main(loader):
    trainer = pl.Trainer(precision={precision}, callbacks=[Norms()])
    trainer.fit(Careful(), loader)
    trainer.fit(Manual(), loader)
    trainer.fit(Net(), loader)
"""


def in_project(root: Path) -> dict[str, list[Diagnostic]]:
    """What a run on all files of a project finds in each."""
    found = [FoundFile(each, each.name, Settings(root), False) for each in sorted(root.rglob("*.py"))]
    return {report.path: list(report.diagnostics) for report in run(found, RunOptions(jobs=1))}


def test_a_trainer_in_another_file_scales_what_modules_and_callbacks_meet(tmp_path: Path) -> None:
    root = project(tmp_path, modules=MODULES, train=TRAINING.format(precision='"16-mixed"'))
    found = in_project(root)
    assert [(each.code, each.range.start.row) for each in found["modules.py"]] == [
        ("AMP101", 7),
        ("AMP101", 16),
        ("AMP102", 25),
    ]
    assert all(each.note.endswith("; train.py:6 makes what runs this in float16") for each in found["modules.py"])
    assert found["train.py"] == []


@pytest.mark.parametrize("precision", ['"bf16-mixed"', '"32-true"', "args.precision"])
def test_a_trainer_of_another_precision_scales_nothing(precision: str, tmp_path: Path) -> None:
    root = project(tmp_path, modules=MODULES, train=TRAINING.format(precision=precision))
    assert in_project(root) == {"modules.py": [], "train.py": []}


def test_a_trainer_that_knows_nothing_of_a_module_says_nothing_of_it(tmp_path: Path) -> None:
    other = 'import lightning.pytorch as pl\n\ntrainer = pl.Trainer(precision="16-mixed")\n'
    root = project(tmp_path, modules=MODULES, train=other)
    assert in_project(root) == {"modules.py": [], "train.py": []}


def test_a_file_with_a_trainer_of_its_own_needs_no_other(tmp_path: Path) -> None:
    own = f"{MODULES}\ntrainer = pl.Trainer(precision=16)\n"
    root = project(tmp_path, modules=own, train=TRAINING.format(precision='"32-true"'))
    assert [each.code for each in in_project(root)["modules.py"]] == ["AMP101", "AMP101", "AMP102"]


def test_a_trainer_of_float16_speaks_for_the_layers_of_other_files(tmp_path: Path) -> None:
    layers = """
        import torch

        class Scores(torch.nn.Module):
            def __init__(self, width):
                super().__init__()
                self.query = torch.nn.Linear(width, width)

            def forward(self, x, mask):
                return torch.matmul(self.query(x), x.mT).masked_fill(mask, -1e9)
    """
    half, full = (f"from lightning import Trainer\n\ntrainer = Trainer(precision={each})\n" for each in (16, 32))
    assert [each.code for each in in_project(project(tmp_path / "half", layers=layers, train=half))["layers.py"]] == [
        "AMP303"
    ]
    assert in_project(project(tmp_path / "full", layers=layers, train=full))["layers.py"] == []


def test_a_hook_in_another_file_meets_what_the_trainer_does(tmp_path: Path) -> None:
    hooks = """
        from detectron2.engine import HookBase

        class Schedule(HookBase):
            def __init__(self, scheduler):
                self.scheduler = scheduler

            def after_step(self):
                self.scheduler.step()
    """
    train = """
        from detectron2.engine import AMPTrainer, SimpleTrainer

        import hooks

        def main(args, model, loader, optimizer, scheduler):
            trainer = (AMPTrainer if args.amp else SimpleTrainer)(model, loader, optimizer)
            trainer.register_hooks([hooks.Schedule(scheduler)])
    """
    found = in_project(project(tmp_path, hooks=hooks, train=train))
    assert [(each.code, each.range.start.row) for each in found["hooks.py"]] == [("AMP107", 9)]
    assert found["train.py"] == []
