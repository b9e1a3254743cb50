"""What a call into another file of the project brings about: said at the call, with the place where it happens."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import LOOP, check, codes, only, project

from amplint.diagnostics import Applicability

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
        ("AMP103", "`propagate(loss)` runs the backward pass of a loss that is not scaled, although `scaler` steps the optimizer",
         "propagate(loss); scaler.step(optimizer)"),
        ("AMP104", "`advance(optimizer)` bypasses `scaler`, which scaled the gradients",
         "scaler.scale(loss).backward(); advance(optimizer)"),
        ("AMP107", "`turn(scheduler)` advances the schedule even when `scaler` skips the optimizer step",
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
    assert (found.related[-1].message, found.related[-1].path) == ("the defect is here", str(root / "helpers.py"))
    assert codes(root, "helpers.py") == []


HALVES = """
import torch

def step(scaler, opt):
    scaler.step(opt)

def finish(grad_scaler):
    grad_scaler.update()

def unscale(scaler, opt):
    scaler.unscale_(opt)

def clear(opt):
    opt.zero_grad()

def clip(model):
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)

def gradient_penalty(out, x):
    grad = torch.autograd.grad(out.sum(), x, create_graph=True)[0]
    return ((grad.norm(dim=1) - 1) ** 2).mean()
"""
ACCUMULATING = """
import torch
from helpers import *

def train(model, loader, optimizer, other, criterion, scaler):
    scaler = torch.amp.GradScaler("cuda")
    for index, (data, target) in enumerate(loader):
        data.requires_grad_()
        with torch.autocast("cuda", dtype=torch.float16):
            out = model(data)
            loss = criterion(out, target)
        {body}
"""


@pytest.mark.parametrize(
    ("code", "message", "body"),
    [
        ("AMP105", "`step(scaler, optimizer)` is never followed by `scaler.update()`",
         "optimizer.zero_grad(); scaler.scale(loss).backward(); step(scaler, optimizer)"),
        ("AMP108", "`finish(scaler)` also runs when no step has run before it",
         "scaler.scale(loss).backward(); _ = scaler.step(optimizer) if index % 4 == 3 else 0; finish(scaler)"),
        ("AMP109", "`finish(scaler)` changes the scale before `scaler.step(other)` divides by it",
         "scaler.scale(loss).backward(); scaler.step(optimizer); finish(scaler); scaler.step(other)"
         "; optimizer.zero_grad(); other.zero_grad(); scaler.update()"),
        ("AMP111", "`unscale(scaler, optimizer)` runs before all gradients are accumulated",
         "scaler.scale(loss).backward(); unscale(scaler, optimizer)"
         "\n        if index % 4 == 3:\n            scaler.step(optimizer); scaler.update(); optimizer.zero_grad()"),
        ("AMP117", "`optimizer` needs a closure, which `scaler` does not support",
         "optimizer = torch.optim.LBFGS(model.parameters()); scaler.scale(loss).backward(); step(scaler, optimizer)"
         "; scaler.update()"),
        ("AMP121", "The clip raises an error where the `GradScaler` would skip the step",
         "optimizer.zero_grad(); scaler.scale(loss).backward(); scaler.unscale_(optimizer); clip(model)"
         "; scaler.step(optimizer); scaler.update()"),
        ("AMP123", "`clear(optimizer)` clears the gradients before `scaler.step(optimizer)` uses them",
         "scaler.scale(loss).backward(); clear(optimizer); scaler.step(optimizer); scaler.update()"),
        ("AMP116", "The gradients for a penalty are computed in float16 without loss scaling",
         "optimizer.zero_grad(); scaler.scale(loss + gradient_penalty(out, data)).backward(); scaler.step(optimizer)"
         "; scaler.update()"),
    ],
)  # fmt: skip
def test_one_half_of_the_step_in_another_file(tmp_path: Path, code: str, message: str, body: str) -> None:
    root = project(tmp_path, helpers=HALVES, train=ACCUMULATING.format(body=body))
    found = only(check(root, "train.py"))
    assert (found.code, found.message, found.fix) == (code, message, None)
    assert (found.related[-1].message, found.related[-1].path) == ("the defect is here", str(root / "helpers.py"))


@pytest.mark.parametrize(
    "body",
    [
        "optimizer.zero_grad(); scaler.scale(loss).backward(); step(scaler, optimizer); finish(scaler)",
        "optimizer.zero_grad(); scaler.scale(loss).backward(); unscale(scaler, optimizer); clip_(model)"
        "; step(scaler, optimizer); finish(scaler)",
        "scaler.scale(loss).backward()"
        "\n        if index % 4 == 3:\n            unscale(scaler, optimizer); step(scaler, optimizer); finish(scaler)"
        "; clear(optimizer)",
        "optimizer.zero_grad(); other.zero_grad(); scaler.scale(loss).backward(); step(scaler, optimizer)"
        "; step(scaler, other); finish(scaler)",
        "clear(optimizer); scaler.scale(loss).backward(); step(scaler, optimizer); finish(scaler)",
    ],
)
def test_both_halves_in_another_file(tmp_path: Path, body: str) -> None:
    root = project(tmp_path, helpers=HALVES, train=ACCUMULATING.format(body=body))
    assert codes(root, "train.py") == []


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
    assert [each.message for each in found.related] == ["the region begins here", "the defect is here"]


def test_a_region_around_a_whole_step_of_another_file(tmp_path: Path) -> None:
    scaling = """
        import torch

        class LossScaler:
            def __init__(self):
                self._scaler = torch.amp.GradScaler("cuda")

            def __call__(self, loss, optimizer):
                self._scaler.scale(loss).backward()
                self._scaler.step(optimizer)
                self._scaler.update()
    """
    engine = """
        import torch
        from scaling import LossScaler

        def train(model, loader, optimizer, criterion):
            loss_scaler = LossScaler()
            for data, target in loader:
                optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = criterion(model(data), target)
                    loss_scaler(loss, optimizer)
    """
    root = project(tmp_path, scaling=scaling, train=engine)
    found = only(check(root, "train.py"))
    assert (found.code, found.range.start.row) == ("AMP201", 11)
    assert (found.related[-1].message, found.related[-1].path) == ("the defect is here", str(root / "scaling.py"))
    outside = engine.replace("            loss_scaler(", "        loss_scaler(")
    assert codes(project(tmp_path / "outside", scaling=scaling, train=outside), "train.py") == []


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


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("if __name__ == '__main__':\n    train(*load())\n", ["AMP103"]),
        ("if '__main__' == __name__:\n    train(*load())\n", ["AMP103"]),
        ("train(*load())\n", []),
    ],
)
def test_a_script_in_a_package_imports_from_its_own_folder(tmp_path: Path, end: str, expected: list[str]) -> None:
    main = BARE.format(body="propagate(loss); scaler.step(optimizer)") + end
    root = project(tmp_path, inner_init="", inner_helpers=HELPERS, inner_train=main)
    assert codes(root, "inner/train.py") == expected


def test_a_script_in_a_package_does_not_hide_what_python_brings(tmp_path: Path) -> None:
    main = BARE.replace("helpers", "queue").format(body="propagate(loss); scaler.step(optimizer)")
    main += "if __name__ == '__main__':\n    train(*load())\n"
    root = project(tmp_path, inner_init="", inner_queue=HELPERS, inner_train=main)
    assert codes(root, "inner/train.py") == []


def test_a_function_is_called_by_another_name_of_it(tmp_path: Path) -> None:
    steps = """
        def step_and_clear(optimizer, scaler):
            scaler.step(optimizer)
            optimizer.zero_grad()

        optimizer_step = step_and_clear
    """
    train = """
        import torch
        from steps import optimizer_step

        def train(model, loader, optimizer, criterion):
            scaler = torch.amp.GradScaler("cuda")
            for images, targets in loader:
                loss = criterion(model(images), targets)
                scaler.scale(loss).backward()
                optimizer_step(optimizer, scaler)
    """
    assert codes(project(tmp_path, steps=steps, train=train), "train.py") == ["AMP105"]
    chosen = steps + "        if careful:\n            optimizer_step = None\n"
    assert codes(project(tmp_path, steps=chosen, train=train), "train.py") == []
