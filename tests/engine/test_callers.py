"""Functions are judged as the functions of other files call them."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import found_in, project

from amplint.engine.checker import is_concerned
from amplint.engine.config import Settings

LOSSES = """
import torch
import torch.nn.functional as F


def bce(out, y):
    return F.binary_cross_entropy(torch.sigmoid(out), y)


class Focal(torch.nn.Module):
    def forward(self, out, y):
        return -(torch.log(out.sigmoid() + 1e-9) * y).mean()


def build_criterion(args):
    return Focal()
"""
ENGINE = """
import torch
{imports}

def train_one_epoch(model, criterion, loader, optimizer, scaler):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.{dtype}):
            loss = {loss}
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
"""
MAIN = """
from engine import train_one_epoch
from losses import Focal, build_criterion

def main(args, model, loader, optimizer, scaler):
    {making}
    train_one_epoch(model, criterion, loader, optimizer, scaler)
"""
NUMERICS = ("AMP301", "AMP302", "AMP303", "AMP304", "AMP305", "AMP306", "AMP309")


def engine(loss: str, imports: str = "", dtype: str = "float16") -> str:
    return ENGINE.format(loss=loss, imports=imports, dtype=dtype)


def numerics(root: Path, *paths: str) -> set[str]:
    return found_in(root, *paths, select=NUMERICS)


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
    from amplint.engine.config import Overrides, SettingsResolver
    from amplint.engine.discovery import FoundFile, discover
    from amplint.engine.runner import RunOptions, run

    root = project(tmp_path, losses=LOSSES, engine=engine("bce(model(x), y)", "from losses import bce"))
    resolver = SettingsResolver(Overrides(select=NUMERICS))
    files = [item for item in discover([str(root)], resolver) if isinstance(item, FoundFile)]
    found = [each for report in run(files, RunOptions(1, no_cache=True)) for each in report.diagnostics]
    (finding,) = found
    (caller,) = finding.related
    assert (Path(caller.path).name, caller.range.start.row) == ("engine.py", 8)


def test_the_cache_knows_what_callers_give(tmp_path: Path) -> None:
    from amplint.engine.config import Overrides, SettingsResolver
    from amplint.engine.discovery import FoundFile, discover
    from amplint.engine.runner import RunOptions, run

    root = project(tmp_path / "project", losses=LOSSES, engine=engine("bce(model(x), y)", "from losses import bce"))

    def codes() -> list[str]:
        resolver = SettingsResolver(Overrides(select=NUMERICS))
        files = [item for item in discover([str(root)], resolver) if isinstance(item, FoundFile)]
        reports = run(files, RunOptions(1, tmp_path / "cache"))
        return [each.code for report in reports for each in report.diagnostics]

    assert codes() == codes() == ["AMP304"]
    project(
        root, engine=engine("bce(model(x), y)", "from losses import bce").replace("float16", "float16, enabled=False")
    )
    assert codes() == codes() == []


def test_a_run_after_an_edit_says_where_the_caller_is_now(tmp_path: Path) -> None:
    from amplint.engine.config import Overrides, SettingsResolver
    from amplint.engine.discovery import FoundFile, discover
    from amplint.engine.runner import RunOptions, check_text, run

    caller, options = engine("bce(model(x), y)", "from losses import bce"), RunOptions(1, tmp_path / "cache")
    root = project(tmp_path / "project", losses=LOSSES, engine=caller)

    def files() -> list[FoundFile]:
        resolver = SettingsResolver(Overrides(select=NUMERICS))
        return [item for item in discover([str(root)], resolver) if isinstance(item, FoundFile)]

    def rows() -> list[int]:
        reports = run(files(), options)
        return [half.range.start.row for report in reports for each in report.diagnostics for half in each.related]

    assert rows() == [8]
    edited = "# an edit\n" + caller
    (item,) = (each for each in files() if each.path.name == "engine.py")
    others = [each for each in files() if each.path != item.path]
    assert not check_text(item, edited.encode(), options, others=others).diagnostics
    project(root, engine=edited)
    assert rows() == [9]


LAYERS = """
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Linear(width, width)

    def forward(self, x, mask):
        scores = self.query(x) @ x.transpose(-2, -1)
        return scores.masked_fill(mask, -1e9).softmax(-1)


def plain(scores, mask):
    return scores.masked_fill(mask, -1e9)
"""


@pytest.mark.parametrize(("dtype", "expected"), [("float16", {"layers.py:13 AMP303"}), ("bfloat16", set())])
def test_a_layer_that_nobody_is_seen_to_call_is_judged_by_its_project(
    tmp_path: Path, dtype: str, expected: set[str]
) -> None:
    root = project(tmp_path, layers=LAYERS, engine=engine("criterion(model(x), y)", dtype=dtype))
    assert numerics(root) == expected


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


WRAPPED = """
import torch

def train_one_epoch(model, loader, optimizer, loss_scaler):
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.{dtype}):
            loss = model(x, y)
        loss_scaler(loss, optimizer, parameters=model.parameters())
"""


@pytest.mark.parametrize(("dtype", "expected"), [("float16", {"layers.py:13 AMP303"}), ("bfloat16", set())])
def test_an_object_around_the_scaler_trains_too(tmp_path: Path, dtype: str, expected: set[str]) -> None:
    root = project(tmp_path, layers=LAYERS, engine=WRAPPED.format(dtype=dtype))
    assert numerics(root) == expected


BESIDE = (
    LAYERS
    + """

class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)

    def forward(self, x):
        with torch.no_grad():
            scale = self.inner.weight.abs().amax()
        return self.inner(x) / scale
"""
)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float16", {"layers.py:13 AMP303"}), ("bfloat16", set())],
)
def test_a_layer_beside_one_that_is_called_is_judged_by_its_project(
    tmp_path: Path, dtype: str, expected: set[str]
) -> None:
    calls = f"""
        import torch
        from layers import Mlp

        def mixed(x):
            mlp = Mlp()
            with torch.autocast("cuda", dtype=torch.{dtype}):
                return mlp(x @ x)
        """
    root = project(tmp_path, layers=BESIDE, engine=engine("criterion(model(x), y)"), calls=calls)
    assert numerics(root) == expected


MATCHER = """
import torch


def cost(outputs, ids, masks):
    p = outputs["logits"].sigmoid()
    with torch.autocast("cuda", enabled={enabled}):
        near = torch.einsum("nc,mc->nm", outputs["masks"].float(), masks.float())
    return near - (p + 1e-8).log()[:, ids]
"""


@pytest.mark.parametrize(
    ("enabled", "dtype", "expected"),
    [("False", "float16", {"matcher.py:9 AMP302"}), ("False", "bfloat16", set()), ("True", "float16", set())],
)
def test_an_island_tells_of_a_sea(tmp_path: Path, enabled: str, dtype: str, expected: set[str]) -> None:
    root = project(
        tmp_path, matcher=MATCHER.format(enabled=enabled), engine=engine("criterion(model(x), y)", dtype=dtype)
    )
    assert numerics(root) == expected


CONSTANTS = """
import torch

bce = torch.nn.BCELoss()
EPS = 1e-9


def plain(out, y):
    return bce(torch.sigmoid(out), y)


class Focal(torch.nn.Module):
    def forward(self, out, y):
        return -(torch.log(out.sigmoid() + EPS) * y).mean()
"""


@pytest.mark.parametrize(
    ("call", "expected"), [("plain", {"losses.py:9 AMP304"}), ("Focal()", {"losses.py:14 AMP301"})]
)
def test_what_the_module_makes_is_known_to_functions_that_others_enter(
    tmp_path: Path, call: str, expected: set[str]
) -> None:
    loss = engine(f"{call}(model(x), y)", f"from losses import {call.removesuffix('()')}")
    assert numerics(project(tmp_path, losses=CONSTANTS, engine=loss)) == expected


MASKED = """
import torch
{imports}

{before}
def epoch(model, loader):
    for x, mask in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            attend = {attend}
        attend.sum().backward()

{after}
"""
MAKING = "def main(loader):\n    model = torch.nn.Linear(4, 4)\n    epoch(model, loader)\n\n"


@pytest.mark.parametrize(("before", "after"), [(MAKING, ""), ("", MAKING)])
@pytest.mark.parametrize(
    ("imports", "attend", "expected"),
    [
        ("", "model(x).masked_fill(mask, -1e9).softmax(-1)", "engine.py"),
        ("from masks import masked", "masked(model(x), mask).softmax(-1)", "masks.py:3 AMP303"),
    ],
)
def test_the_order_of_functions_does_not_matter(
    tmp_path: Path, before: str, after: str, imports: str, attend: str, expected: str
) -> None:
    masks = "import torch\ndef masked(scores, mask):\n    return scores.masked_fill(mask, -1e9)\n"
    text = MASKED.format(imports=imports, attend=attend, before=before, after=after)
    (found,) = numerics(project(tmp_path, masks=masks, engine=text))
    assert found.startswith(expected)
    assert found.endswith("AMP303")


MEL = """
import torch


def spectral(spec, basis):
    return torch.log(torch.clamp(torch.matmul(basis, spec), min=1e-5))
"""


@pytest.mark.parametrize(("argument", "expected"), [("model(x)", {"mel.py:6 AMP301"}), ("x", set())])
def test_of_data_no_gradient_is_wanted(tmp_path: Path, argument: str, expected: set[str]) -> None:
    loss = f"(spectral({argument}, y) - criterion(model(x), y)).abs().mean()"
    root = project(tmp_path, mel=MEL, engine=engine(loss, "from mel import spectral"))
    assert numerics(root) == expected


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
