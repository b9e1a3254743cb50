"""Which function of which file a context is for."""

from __future__ import annotations

import ast
import gc
import textwrap
from pathlib import Path

import pytest
from project import project

from amplint.callgraph.import_graph import ImportGraph
from amplint.callgraph.linking import Links
from amplint.model.caller_contexts import CallerContext, Target
from amplint.python_ast import gate


def targets(root: Path, target: Target, caller: str = "engine.py") -> set[str]:
    given = target._replace(file=str(root / target.file)) if target.file else target
    context = CallerContext(given, None, True, False, (), str(root / caller), 1, 1)
    found = Links(ImportGraph(root.rglob("*.py"), root)).by_file([context])
    return {f"{Path(path).relative_to(root)} {one.target.name}" for path, each in found.items() for one in each}


MAKES = "from losses import Focal\ncriterion = Focal()\n"
LOSSES = """
import torch
from registry import LOSS_REGISTRY

class Focal(torch.nn.Module):
    def forward(self, x): ...

class Dice(torch.nn.Module):
    def forward(self, x): ...

@LOSS_REGISTRY.register()
def bce(x): ...

@LOSS_REGISTRY.register("late")
class Late(torch.nn.Module):
    def forward(self, x): ...

TABLE = {"focal": Focal, "dice": Dice}

def build(args):
    criterion = Focal().cuda()
    return criterion

def build_both(args):
    model = Dice()
    criterion = Focal()
    return model, criterion
"""


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (Target("losses.py", "bce"), {"losses.py bce"}),
        (Target("losses.py", "Focal()", True), {"losses.py Focal"}),
        (Target("losses.py", "build(args)", True), {"losses.py Focal"}),
        (Target("pkg/__init__.py", "bce"), {"losses.py bce"}),
        (Target("pkg/__init__.py", "Wrapped()", True), {"losses.py Dice"}),
        (Target("losses.py", "gone"), set()),
    ],
)
def test_names_are_followed_to_definitions(tmp_path: Path, target: Target, expected: set[str]) -> None:
    root = project(tmp_path, losses=LOSSES, pkg_init="from losses import bce, Dice as Wrapped")
    assert targets(root, target) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("losses.bce", {"bce"}),
        ("partial(losses.bce, weight=2)", {"bce"}),
        ("functools.partial(bce)", {"bce"}),
        ("torch.compile(losses.Focal()).cuda()", {"Focal"}),
        ("Focal() if args.focal else losses.Dice()", {"Focal", "Dice"}),
        ("{'focal': Focal(), 'dice': losses.Dice()}[args.loss]", {"Focal", "Dice"}),
        ("{'focal': Focal(), 'dice': losses.Dice()}['dice']", {"Dice"}),
        ("losses.TABLE[args.loss]()", {"Focal", "Dice"}),
        ("TABLE.get(args.loss)()", {"Focal", "Dice"}),
        ("TABLE['focal'](gamma=2)", {"Focal"}),
        ("losses.build(args)", {"Focal"}),
        ("getattr(losses, 'Focal')()", {"Focal"}),
        ("getattr(losses, 'Gone')()", set()),
        ("losses.__dict__['Dice']()", {"Dice"}),
        ("LOSS_REGISTRY.build(dict(type='late'))", {"Late"}),
        ("LOSS_REGISTRY.get('late')()", {"Late"}),
        ("build_from_cfg({'type': 'Gone'}, LOSS_REGISTRY)", set()),
        ("build_from_cfg({'type': 'late'}, LOSS_REGISTRY)", {"Late"}),
        ("MADE", {"Dice"}),
        ("losses.Focal", set()),
        ("criterion", set()),
        ("torch.nn.BCELoss()", set()),
        ("lambda x: x", set()),
        ("unknown(losses.bce)", set()),
    ],
)
@pytest.mark.parametrize("handing", ["train(0, {})", "train(0, loss_fn={})", "loss_fn = {}\ntrain(0, loss_fn)"])
def test_a_parameter_is_what_the_calls_give(tmp_path: Path, expression: str, expected: set[str], handing: str) -> None:
    main = """
    import functools, torch, losses
    from functools import partial
    from engine import train
    from losses import Focal, Dice, TABLE, bce
    from registry import LOSS_REGISTRY

    MADE = Dice()
    """
    main = textwrap.dedent(main) + handing.format(expression)
    engine = "def train(model, loss_fn):\n    loss_fn(model)\n"
    registry = "LOSS_REGISTRY = Registry('loss')\n"
    root = project(tmp_path, losses=LOSSES, engine=engine, main=main, registry=registry)
    assert targets(root, Target("", "loss_fn", True)) == {f"losses.py {name}" for name in expected}


def test_the_name_of_a_parameter_may_be_another_one_than_that_of_what_is_given(tmp_path: Path) -> None:
    engine = "class Trainer:\n    def __init__(self, model, loss_fn):\n        self.loss_fn = loss_fn\n"
    main = "from engine import Trainer\nimport losses\nmade = losses.Focal()\nTrainer(None, made)"
    root = project(tmp_path, losses=LOSSES, engine=engine, main=main)
    assert targets(root, Target("", "loss_fn", True)) == {"losses.py Focal"}
    other = main.replace("from engine import Trainer", "import engine\nfrom other import Trainer")
    root = project(tmp_path, main=other, other=engine)
    assert targets(root, Target("", "loss_fn", True)) == set()


def test_what_leads_to_itself_comes_to_an_end(tmp_path: Path) -> None:
    main = "import engine\nfrom losses import Focal\ndef wrap(model): return wrap(model)\n"
    main += "model = Focal()\nmodel = wrap(model)\nmodel = model.cuda()\nloss_fn = model\n"
    root = project(tmp_path, losses=LOSSES, engine="", main=main)
    assert targets(root, Target("", "loss_fn", True)) == {"losses.py Focal"}


@pytest.mark.parametrize(
    "making",
    [
        "criterion = Focal()",
        "criterion = Focal().to('cuda')",
        "run(criterion=Focal())",
        "parts = {'criterion': Focal()}",
        "criterion = build(1)",
        "model, criterion = build_both(1)\ncriterion = build_both(1)",
    ],
)
def test_a_parameter_is_what_the_project_makes_under_its_name(tmp_path: Path, making: str) -> None:
    main = f"from losses import Focal, build, build_both\nimport engine\n{making}"
    root = project(tmp_path, losses=LOSSES, engine="", main=main)
    assert targets(root, Target("", "criterion", True)) == {"losses.py Focal"}


@pytest.mark.parametrize(
    "making",
    [
        "losses = {'focal': Focal(), 'dice': Dice()}",
        "focal, dice = Focal(), Dice()\nlosses = {'focal': focal, 'dice': dice}",
        "losses = torch.nn.ModuleDict({'focal': Focal(), 'dice': Dice()})",
        "run(losses={'dice': Dice(), 'focal': Focal()})",
        "train(0, {'dice': Dice(), 'focal': Focal()})",
        "table = {'dice': Dice(), 'focal': build(1)}\ntrain(0, table)",
        "train(0, losses={**more, 'focal': Focal()})",
    ],
)
def test_an_element_of_a_table_is_what_the_project_puts_under_its_key(tmp_path: Path, making: str) -> None:
    main = f"import torch\nfrom losses import Dice, Focal, build\nfrom engine import train\n{making}"
    engine = "def train(model, losses):\n    losses['focal'](model)\n"
    root = project(tmp_path, losses=LOSSES, engine=engine, main=main)
    assert targets(root, Target("", "losses['focal']", True)) == {"losses.py Focal"}
    assert targets(root, Target("", "weights['focal']", True)) == set()


def test_a_name_in_an_unrelated_program_says_nothing(tmp_path: Path) -> None:
    root = project(tmp_path, losses=LOSSES, engine="", other="from losses import Focal\ncriterion = Focal()")
    assert targets(root, Target("", "criterion", True)) == set()


def test_a_name_for_objects_of_many_classes_says_nothing(tmp_path: Path) -> None:
    classes = "\n".join(f"class C{number}: ...\nlayer = C{number}()" for number in range(9))
    root = project(tmp_path, engine="", main=f"import engine\n{classes}")
    assert targets(root, Target("", "layer", True)) == set()


def test_a_name_that_most_files_assign_says_nothing(tmp_path: Path) -> None:
    def users(count: int) -> Path:
        plain = {f"user{number}": "import engine\ncriterion = None" for number in range(count - 2)}
        return project(tmp_path / str(count), losses=LOSSES, engine="", last=f"{MAKES}import engine", **plain)

    assert targets(users(60), Target("", "criterion", True)) == {"losses.py Focal"}
    assert targets(users(61), Target("", "criterion", True)) == set()


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("from timm import create_model\ncriterion = create_model(args)", set()),
        ("import timm\ncriterion = timm.create_model(args)\ncriterion = wrap(criterion)", set()),
        ("import torch\ncriterion = torch.nn.DataParallel(losses[0])", {"losses.py Focal"}),
        ("criterion = make(args)", {"losses.py Focal"}),
        ("def make(args): ...\ncriterion = make(args)", {"losses.py Focal"}),
        ("from tools import make\ncriterion = make(args)", {"losses.py Focal"}),
        ("import timm\ncriterion = parts['loss'] if parts else timm.create_model(args)", {"losses.py Focal"}),
        ("import timm\nloss_fn = timm.create_model(args)", {"losses.py Focal"}),
    ],
)
def test_what_libraries_make_is_not_what_another_file_calls_so(tmp_path: Path, run: str, expected: set[str]) -> None:
    root = project(tmp_path, losses=LOSSES, engine="", tools=MAKES, run=f"import engine, tools\n{run}")
    assert targets(root, Target("", "criterion", True)) == expected


def test_a_method_that_no_class_defines_is_not_searched_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = gate.parse

    def noted(text: str) -> ast.Module:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(gate, "parse", noted)
    root = project(tmp_path, losses=LOSSES, engine="", main=f"{MAKES}import engine")
    assert targets(root, Target("", "criterion", True, "info")) == set()
    assert parsed == []
    assert targets(root, Target("", "criterion", True, "forward")) == {"losses.py Focal"}
    assert parsed != []


def test_what_does_not_parse_defines_nothing(tmp_path: Path) -> None:
    root = project(tmp_path, losses="def bce(x:", main="import losses")
    assert targets(root, Target("losses.py", "bce")) == set()


def test_many_star_imports_of_each_other_cost_little(tmp_path: Path) -> None:
    stars = "\n".join(f"from part{number} import *" for number in range(25))
    files = {f"part{number}": stars for number in range(25)}
    root = project(tmp_path, **files, last="def bce(x): ...")
    assert targets(root, Target("part0.py", "bce")) == set()
    root = project(tmp_path, part7=f"{stars}\nfrom last import bce")
    assert targets(root, Target("part0.py", "bce")) == {"last.py bce"}


def test_a_long_row_of_imports_comes_to_an_end(tmp_path: Path) -> None:
    files = {f"row{number}": f"from row{number + 1} import bce" for number in range(400)}
    root = project(tmp_path, **files, row400="def bce(x): ...")
    assert targets(root, Target("row0.py", "bce")) == set()
    assert targets(root, Target("row380.py", "bce")) == {"row400.py bce"}


def test_a_name_that_is_assigned_often_costs_little(tmp_path: Path) -> None:
    lines = "\n".join("model = model.cuda()" for _ in range(60))
    root = project(tmp_path, losses=LOSSES, engine="", main=f"import engine\n{lines}\ncriterion = model\n")
    assert targets(root, Target("", "criterion", True)) == set()


def test_what_has_no_name_says_nothing(tmp_path: Path) -> None:
    main = "from losses import Focal\nimport engine\nloss_fn = parts[0].head()\n"
    root = project(tmp_path, losses=LOSSES, engine="", main=main)
    assert targets(root, Target("", "loss_fn", True)) == set()


def test_trees_are_let_go_of_in_a_large_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"part{number}" for number in range(6)]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "nets.py").write_text(f"class Net_{name}: ...\n")
        (tmp_path / name / "engine.py").write_text(f"from nets import Net_{name}\nmodel = Net_{name}()\n")
    contexts = [
        CallerContext(Target("", "model", True), None, True, False, (), str(tmp_path / name / "engine.py"), 1, 1)
        for name in names
    ]

    def linked() -> tuple[dict[str, tuple[CallerContext, ...]], int]:
        links = Links(ImportGraph(tmp_path.rglob("*.py"), tmp_path))
        before = trees()
        found = links.by_file(contexts)
        return found, len(trees()) - len(before)

    def trees() -> list[ast.Module]:
        return [each for each in gc.get_objects() if type(each) is ast.Module]  # some objects warn when asked for more

    everything, held = linked()
    assert len(everything) == 6
    assert held == 12
    monkeypatch.setattr("amplint.callgraph.linking._MOST_CHARACTERS", 10)
    assert linked() == (everything, 2)
