"""Classes, contexts and scalers that other files define."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import LOOP, check, codes, found_in, only, project

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
            optimizer.zero_grad()
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


STATE = """
    import torch

    scaler = torch.amp.GradScaler("cuda")
"""
REEXPORTED = """
    from shared import scaler as grad_scaler

    def backward(loss):
        grad_scaler.scale(loss).backward()
"""


@pytest.mark.parametrize(
    ("imports", "backward", "clear", "shown"),
    [
        ("import shared", "shared.scaler.scale(loss).backward()", "shared.scaler", "shared.scaler"),
        ("import shared as S", "S.scaler.scale(loss).backward()", "S.scaler", "S.scaler"),
        ("import shared as S; from shared import scaler", "scaler.scale(loss).backward()", "S.scaler", "scaler"),
        ("import shared; from helpers import backward", "backward(loss)", "shared.scaler", "shared.scaler"),
        ("from shared import scaler; from helpers import backward", "backward(loss)", "scaler", "scaler"),
        ("import helpers; import shared", "helpers.backward(loss)", "shared.scaler", "shared.scaler"),
    ],
)
def test_a_scaler_of_another_module_is_one_object_by_whatever_name(
    tmp_path: Path, imports: str, backward: str, clear: str, shown: str
) -> None:
    main = f"""
        import torch
        {imports}

        def train(model, loader, optimizer, criterion):
            for data, target in loader:
                optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = criterion(model(data), target)
                {backward}
                %s
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                {clear}.step(optimizer)
                {clear}.update()
    """
    wrong, right = tmp_path / "wrong", tmp_path / "right"
    for root, line in ((wrong, "pass"), (right, f"{clear}.unscale_(optimizer)")):
        root.mkdir()
        project(root, shared=STATE, helpers=REEXPORTED, train=main % line)
    found = only(check(wrong, "train.py"))
    assert (found.code, found.message) == ("AMP101", f"Gradients are clipped before `{shown}` unscales them")
    assert codes(right, "train.py") == []


def test_an_element_is_named_as_the_author_writes_it(tmp_path: Path) -> None:
    loop = """
        import torch

        def train(model, loader, optimizer, criterion):
            state = {}
            state["scaler"] = torch.amp.GradScaler("cuda")
            for data, target in loader:
                optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = criterion(model(data), target)
                state["scaler"].scale(loss).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                state["scaler"].step(optimizer)
                state["scaler"].update()
    """
    found = only(check(project(tmp_path, train=loop), "train.py"))
    assert found.message == 'Gradients are clipped before `state["scaler"]` unscales them'


def test_a_local_name_is_that_of_what_it_was_taken_from(tmp_path: Path) -> None:
    loop = """
        import torch

        def make():
            return {"scaler": torch.amp.GradScaler("cuda")}

        def train(state, model, loader, optimizer, criterion):
            scaler = state["scaler"]
            for data, target in loader:
                optimizer.zero_grad()
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = criterion(model(data), target)
                scaler.scale(loss).backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()

        train(make(), model, loader, optimizer, criterion)
    """
    found = only(check(project(tmp_path, train=loop), "train.py"))
    assert found.message == "Gradients are clipped before `scaler` unscales them"


@pytest.mark.parametrize(
    ("unscaled", "expected"),
    [
        ("for optimizer in self.optimizers:\n                    self.scaler.unscale_(optimizer)", []),
        ("self.scaler.get_scale()", ["AMP101"]),
    ],
)
def test_an_optimizer_made_of_several_acts_through_them(tmp_path: Path, unscaled: str, expected: list[str]) -> None:
    pair = f"""
        import torch
        from torch import nn

        class PairOptimizer:
            def __init__(self, args, encoder, head):
                self.limit = args.limit
                self.encoder_params, self.head_params = encoder.parameters(), head.parameters()
                self.optimizers = []
                self.of_encoder, self.of_head = self.made(self.encoder_params, self.head_params)
                self.optimizers.append(self.of_encoder)
                self.optimizers.append(self.of_head)
                self.scaler = torch.amp.GradScaler("cuda")

            def made(self, encoder_params, head_params):
                return torch.optim.AdamW(encoder_params), torch.optim.AdamW(head_params)

            def step(self, loss):
                self.scaler.scale(loss).backward()
                {unscaled}
                nn.utils.clip_grad_norm_(self.encoder_params, self.limit)
                for optimizer in self.optimizers:
                    self.scaler.step(optimizer)
                self.scaler.update()
    """
    main = """
        import torch
        from pair import PairOptimizer

        def train(args, encoder, head, loader):
            optimizer = PairOptimizer(args, encoder, head)
            for batch in loader:
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = head(encoder(batch)).mean()
                optimizer.step(loss)
                print(optimizer)
    """
    root = project(tmp_path, pair=pair, train=main)
    assert codes(root, "pair.py") + codes(root, "train.py") == expected


def test_decorators_of_another_file_are_known_by_what_they_are_made_of(tmp_path: Path) -> None:
    made = """
        import torch

        if hasattr(torch.amp, "custom_fwd"):
            forward_in_half = torch.amp.custom_fwd(device_type="cuda")
            backward_in_half = torch.amp.custom_bwd(device_type="cuda")
        else:
            forward_in_half = torch.cuda.amp.custom_fwd
            backward_in_half = torch.cuda.amp.custom_bwd
    """
    main = """
        import torch
        from decorators import forward_in_half, backward_in_half

        class Product(torch.autograd.Function):
            @staticmethod
            {forward}
            def forward(ctx, x, w):
                ctx.save_for_backward(x, w)
                return x @ w

            @staticmethod
            {backward}
            def backward(ctx, grad):
                x, w = ctx.saved_tensors
                return grad @ w.t(), x.t() @ grad

        def train(x, w, scaler):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = Product.apply(x, w).sum()
            scaler.scale(loss).backward()
    """
    plain = project(tmp_path / "plain", decorators=made, ops=main.format(forward="", backward=""))
    assert found_in(plain, "ops.py", select=("AMP208",)) == {"ops.py:5 AMP208"}
    both = main.format(forward="@forward_in_half", backward="@backward_in_half")
    aware = project(tmp_path / "aware", decorators=made, ops=both)
    assert found_in(aware, "ops.py", select=("AMP208",)) == set()
