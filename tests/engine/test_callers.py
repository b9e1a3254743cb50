"""Functions are judged as the functions of other files call them."""

from __future__ import annotations

from pathlib import Path

import pytest
from loss_and_loop import LOSSES, NUMERICS, engine, numerics
from project import project

from amplint.engine.config import Overrides, SettingsResolver
from amplint.engine.discovery import FoundFile, discover
from amplint.engine.runner import RunOptions, run

MAIN = """
from engine import train_one_epoch
from losses import Focal, build_criterion

def main(args, model, loader, optimizer, scaler):
    {making}
    train_one_epoch(model, criterion, loader, optimizer, scaler)
"""


def test_a_function_that_is_imported_runs_in_the_region_of_its_caller(tmp_path: Path) -> None:
    root = project(tmp_path, losses=LOSSES, engine=engine("bce(model(x), y)", "from losses import bce"))
    assert numerics(root) == {"losses.py:7 AMP304"}


def test_a_function_of_a_module_does(tmp_path: Path) -> None:
    root = project(tmp_path, losses=LOSSES, engine=engine("losses.bce(model(x), y)", "import losses"))
    assert numerics(root) == {"losses.py:7 AMP304"}


def test_an_object_of_an_imported_class_does(tmp_path: Path) -> None:
    root = project(tmp_path, losses=LOSSES, engine=engine("Focal().cuda()(model(x), y)", "from losses import Focal"))
    assert numerics(root) == {"losses.py:12 AMP301"}
    imports = "from losses import Focal\nloss_fn = Focal().cuda()"
    root = project(tmp_path, losses=LOSSES, engine=engine("loss_fn(model(x), y)", imports))
    assert numerics(root) == {"losses.py:12 AMP301"}


@pytest.mark.parametrize("making", ["criterion = Focal()", "criterion = build_criterion(args)"])
def test_a_parameter_does_that_a_third_file_makes(tmp_path: Path, making: str) -> None:
    root = project(tmp_path, losses=LOSSES, engine=engine("criterion(model(x), y)"), main=MAIN.format(making=making))
    assert numerics(root) == {"losses.py:12 AMP301"}


@pytest.mark.parametrize(
    ("loss", "imports", "expected"),
    [
        ("loss_fn(model(x), y)", "import functools, losses\nloss_fn = functools.partial(losses.bce)", "7 AMP304"),
        ("losses.TABLE[args.loss](model(x), y)", "import losses", "7 AMP304"),
        ("build_criterion(args)(model(x), y)", "from losses import build_criterion", "12 AMP301"),
        ("loss_fn(model(x), y)", "import losses\nloss_fn = getattr(losses, 'Focal')()", "12 AMP301"),
    ],
)
def test_what_comes_out_of_another_file_does(tmp_path: Path, loss: str, imports: str, expected: str) -> None:
    table = '\nTABLE = {"bce": bce}\n'
    root = project(tmp_path, losses=LOSSES + table, engine=engine(loss, imports))
    assert numerics(root) == {f"losses.py:{expected}"}


def test_a_class_that_a_function_has_chosen_does(tmp_path: Path) -> None:
    text = engine("Chosen()(model(x), y)", "from losses import Dice, Focal")
    choice = "    if loader:\n        Chosen = Focal\n    else:\n        Chosen = Dice\n    for x, y"
    root = project(tmp_path, losses=LOSSES + "\nDice = None\n", engine=text.replace("    for x, y", choice))
    assert numerics(root) == {"losses.py:12 AMP301"}


@pytest.mark.parametrize("given", ["losses.bce", "criterion=losses.bce", "partial(losses.bce)", "TABLE[args.loss]"])
def test_a_function_that_is_handed_over_does(tmp_path: Path, given: str) -> None:
    main = f"""
    import losses
    from functools import partial
    from engine import train_one_epoch

    TABLE = {{"bce": losses.bce}}

    def main(args, model, loader, optimizer, scaler):
        train_one_epoch(model, {given}, **args)
    """
    root = project(tmp_path, losses=LOSSES, engine=engine("criterion(model(x), y)"), main=main)
    assert numerics(root) == {"losses.py:7 AMP304"}


FACTORY = """
import torch

def init_loss(labels, temperature, name="plain"):
    def contrastive(z):
        similar = (z @ z.T / temperature).exp()
        shares = similar.div(similar.sum(dim=1, keepdim=True)) @ labels
        return torch.log(shares).mean()

    def plain(z):
        return (z - labels).pow(2).mean()

    return {returned}
"""
TAKING = """
import torch
from losses import init_loss

def main(encoder, loader, optimizer, scaler, labels):
    criterion = init_loss(labels, 0.1)

    for x in loader:
        def step():
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(encoder(x))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        step()
"""


@pytest.mark.parametrize(("returned", "expected"), [("contrastive", {"losses.py:8 AMP301"}), ("plain", set())])
def test_a_function_that_a_function_makes_runs_in_the_region_of_its_caller(
    tmp_path: Path, returned: str, expected: set[str]
) -> None:
    root = project(tmp_path, losses=FACTORY.format(returned=returned), engine=TAKING)
    assert numerics(root) == expected


def test_a_part_of_a_module_does_whose_forward_is_called_by_name(tmp_path: Path) -> None:
    block = """
        import torch
        from torch import nn

        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(64, 64)

            def forward(self, x):
                x = self.fc(x)
                return x / (x.std() + 1e-9)
        """
    net = """
        from block import Block
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.block = Block()

            def forward(self, x):
                return self.block.forward(x)
        """
    imports = "from net import Net\nnet = Net().cuda()"
    root = project(tmp_path, block=block, net=net, engine=engine("criterion(net(x), y)", imports))
    assert numerics(root) == {"block.py:12 AMP302"}


def test_a_region_is_followed_through_several_files(tmp_path: Path) -> None:
    middle = "from losses import bce\n\ndef combined(out, y):\n    return 2 * bce(out, y)\n"
    root = project(
        tmp_path, losses=LOSSES, middle=middle, engine=engine("combined(model(x), y)", "from middle import combined")
    )
    assert numerics(root) == {"losses.py:7 AMP304"}


def test_functions_that_call_each_other_in_a_circle_come_to_an_end(tmp_path: Path) -> None:
    one = "import torch\nfrom two import g\n\ndef f(x):\n    return torch.log(torch.softmax(x, 1)) + g(x)\n"
    two = "import torch\nfrom one import f\n\ndef g(x):\n    return torch.log(torch.sigmoid(x)) + f(x * 2)\n"
    root = project(tmp_path, one=one, two=two, engine=engine("f(model(x)).mean()", "from one import f"))
    assert numerics(root) == {"one.py:5 AMP305", "two.py:5 AMP305"}


@pytest.mark.parametrize(
    "calling",
    [
        engine("criterion(model(x), y)", "from losses import bce"),  # imported, and not called
        engine("bce(model(x).float(), y)", "from losses import bce").replace("torch.autocast", "no_region"),
        engine("bce(model(x), y)", "from losses import bce")
        .replace("with torch", "with torch.no_grad():\n            pass\n        with torch")
        .replace('torch.autocast("cuda", dtype=torch.float16)', "torch.enable_grad()"),
        engine("bce(model(x), y)", "from losses import bce").replace("dtype=torch.float16", "enabled=False"),
    ],
)
def test_nothing_is_said_where_nobody_enters_a_region(tmp_path: Path, calling: str) -> None:
    root = project(tmp_path, losses=LOSSES, engine=calling)
    assert numerics(root) == set()


def test_a_region_of_an_unrelated_program_says_nothing(tmp_path: Path) -> None:
    root = project(
        tmp_path,
        losses=LOSSES,
        engine=engine("criterion(model(x), y)"),
        other="from losses import Focal\n\ncriterion = Focal()\n",
    )
    assert numerics(root) == set()


def test_one_file_is_judged_as_in_a_run_on_everything(tmp_path: Path) -> None:
    main = MAIN.format(making="criterion = Focal()")
    root = project(tmp_path, losses=LOSSES, engine=engine("criterion(model(x), y)"), main=main)
    assert numerics(root, "losses.py") == numerics(root) == {"losses.py:12 AMP301"}


def test_the_second_location_is_the_region_of_the_caller(tmp_path: Path) -> None:
    root = project(tmp_path, losses=LOSSES, engine=engine("bce(model(x), y)", "from losses import bce"))
    resolver = SettingsResolver(Overrides(select=NUMERICS))
    files = [item for item in discover([str(root)], resolver) if isinstance(item, FoundFile)]
    found = [each for report in run(files, RunOptions(1, no_cache=True)) for each in report.diagnostics]
    (finding,) = found
    (caller,) = finding.related
    assert (Path(caller.path).name, caller.range.start.row) == ("engine.py", 8)


@pytest.mark.parametrize(
    ("given", "taken", "found"),
    [
        ("**model(x), y=y", "out, y", True),
        ("**model(x), y=y", "y, out=None", False),
        ("*model(x), y", "out, y", False),
        ("y=y, **{'out': model(x).float()}", "out, y", False),
    ],
)
def test_outputs_that_are_unpacked_reach_the_parameters_of_another_file(
    tmp_path: Path, given: str, taken: str, found: bool
) -> None:
    losses = LOSSES.replace("def bce(out, y)", f"def bce({taken})").replace(
        "F.binary_cross_entropy(torch.sigmoid(out), y)", "torch.log(1 - out.sigmoid()).mean()"
    )
    root = project(tmp_path, losses=losses, engine=engine(f"bce({given})", "from losses import bce"))
    assert numerics(root) == ({"losses.py:7 AMP301"} if found else set())


def test_a_loss_asks_the_outputs_by_name(tmp_path: Path) -> None:
    losses = LOSSES.replace(
        "F.binary_cross_entropy(torch.sigmoid(out), y)", "torch.log(1 - out.get('logits').sigmoid()).mean()"
    )
    root = project(tmp_path, losses=losses, engine=engine("bce(model(x), y)", "from losses import bce"))
    assert numerics(root) == {"losses.py:7 AMP301"}
