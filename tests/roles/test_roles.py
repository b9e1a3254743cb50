"""Which expression is a scaler, an optimizer, a scheduler."""

from __future__ import annotations

from dataclasses import replace
from textwrap import dedent, indent

import libcst as cst
import pytest
from lowered import file_of

from amplint.model.events import ObjectFacts

HEADER = """
import accelerate
import deepspeed
import lightning as L
import torch
import torch.optim as optim
from diffusers import DDPMScheduler
from sklearn.preprocessing import StandardScaler
from torch.cuda.amp import GradScaler
from torch.optim.lr_scheduler import OneCycleLR, ReduceLROnPlateau
from transformers import get_linear_schedule_with_warmup
"""


def role_in(code: str, expression: str) -> ObjectFacts:
    """What the last use of an expression in a module is."""
    file = file_of(HEADER + dedent(code))
    used = [
        node
        for kind in (cst.Name, cst.Attribute, cst.Subscript)
        for node in file.tree.find(kind)
        if file.tree.text(node) == expression
    ]
    return file.roles.of(max(used, key=file.tree.order))


def role_of(code: str, expression: str, use: str = "use({})") -> str:
    """The role of an expression that is used in a function after some statements of it."""
    body = indent(dedent(code), "    ")
    return role_in(f"def train(model, disc, args, given):\n{body}\n    {use.format(expression)}\n", expression).role


@pytest.mark.parametrize(
    ("made", "role"),
    [
        ("GradScaler()", "scaler"),
        ('torch.amp.GradScaler("cuda", enabled=args.amp)', "scaler"),
        ("torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler()", "scaler"),
        ("GradScaler() if args.amp else None", "scaler"),
        ("None if args.fp32 else GradScaler()", "scaler"),
        ("args.amp and GradScaler() or None", "scaler"),
        ("StandardScaler()", ""),
        ("torch.optim.SGD(model.parameters(), lr=0.1)", "optimizer"),
        ("optim.AdamW(model.parameters())", "optimizer"),
        ("build_optimizer(args, model)", "optimizer"),
        ("Lion(model.parameters())", "optimizer"),
        ("optim.swa_utils.AveragedModel(model)", ""),
        ("OneCycleLR(given, 0.1)", "scheduler"),
        ("optim.lr_scheduler.StepLR(given, 3)", "scheduler"),
        ("get_linear_schedule_with_warmup(given, 10, 100)", "scheduler"),
        ("ReduceLROnPlateau(given)", ""),
        ("DDPMScheduler(1000)", ""),
        ("accelerate.Accelerator()", "framework"),
        ("L.Fabric()", "framework"),
        ("torch.nn.Linear(3, 4)", ""),
        ("load(args)", ""),
    ],
)
def test_by_constructor(made: str, role: str) -> None:
    assert role_of(f"thing = {made}", "thing") == role


@pytest.mark.parametrize(
    ("code", "role"),
    [
        ("thing.unscale_(given)", "scaler"),
        ("thing.scale(loss).backward()", "scaler"),
        ("scaler.step(thing)", "optimizer"),
        ("scaler.unscale_(thing)", "optimizer"),
        ("s.unscale_(given)\ns.step(thing)", "optimizer"),
        ("thing.step()", ""),
        ("thing.scale(loss)", ""),
        ("thing.update()", ""),
    ],
)
def test_by_use(code: str, role: str) -> None:
    assert (
        role_in(f"def train(thing, scaler, given, s):\n{indent(code, '    ')}\n    use(thing)\n", "thing").role == role
    )


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("scaler", "scaler"),
        ("grad_scaler", "scaler"),
        ("loss_scaler", "framework"),
        ("amp_scaler", "scaler"),
        ("optimizer", "optimizer"),
        ("optimizer_d", "optimizer"),
        ("optim", "optimizer"),
        ("opt", "optimizer"),
        ("opt2", "optimizer"),
        ("options", ""),
        ("adopt", ""),
        ("scheduler", "scheduler"),
        ("lr_scheduler", "scheduler"),
        ("lr_sched", "scheduler"),
        ("noise_scheduler", ""),
        ("ddim_scheduler", ""),
        ("wd_scheduler", ""),
        ("momentum_scheduler", ""),
        ("plateau_scheduler", ""),
        ("accelerator", "framework"),
        ("fabric", "framework"),
        ("model_engine", "framework"),
        ("model", ""),
        ("scale", ""),
        ("loss", ""),
    ],
)
def test_by_name(name: str, role: str) -> None:
    assert role_in(f"def train({name}):\n    use({name})\n", name).role == role


@pytest.mark.parametrize(
    ("code", "expression", "role"),
    [
        # A constructor outranks the name, and what is not known outranks the guess.
        ("scaler = StandardScaler()", "scaler", ""),
        ("scheduler = DDPMScheduler()", "scheduler", ""),
        ("optimizer = None", "optimizer", "optimizer"),
        ("scaler = None", "scaler", "scaler"),
        ("scaler = make_it(args)", "scaler", "framework"),
        ("scheduler = ReduceLROnPlateau(given)", "scheduler", ""),
        # Unpacked.
        ("a, b = GradScaler(), optim.SGD(model.parameters())", "a", "scaler"),
        ("a, b = GradScaler(), optim.SGD(model.parameters())", "b", "optimizer"),
        ("model, optimizer = accelerate.Accelerator().prepare(model, given)", "optimizer", "framework"),
        ("engine, optimizer, _, _ = deepspeed.initialize(model=model)", "optimizer", "framework"),
        ("optimizer, scheduler = configure_optimizers(model)", "scheduler", "scheduler"),
        # Aliases and branches.
        ("first = GradScaler()\nsecond = first", "second", "scaler"),
        ("if args.amp:\n    s = GradScaler()\nelse:\n    s = None", "s", "scaler"),
        ("s = GradScaler()\ns = optim.SGD(model.parameters())", "s", ""),
        # Containers.
        ("opts = [optim.SGD(m.parameters()) for m in given]", "opts", "optimizer"),
        ("opts = [optim.SGD(m.parameters()) for m in given]", "opts[0]", "optimizer"),
        ('opts = {"g": optim.SGD(model.parameters())}', 'opts["g"]', "optimizer"),
        ("scalers = [GradScaler(), GradScaler()]", "scalers[args.i]", "scaler"),
        ("things = (optim.Adam(model.parameters()), optim.Adam(disc.parameters()))", "things[1]", "optimizer"),
    ],
)
def test_values(code: str, expression: str, role: str) -> None:
    assert role_of(code, expression) == role


CLASSES = """
class Base:
    momentum = 0.9
    thing = None

    def __init__(self, model, args):
        self.scaler = StandardScaler()
        self.grad = None
        self.pair, self.other = GradScaler(), load()
        self.engine_ = accelerate.Accelerator()

    def setup(self, model):
        self.grad = GradScaler(enabled=self.amp)
        self.algo = optim.SGD(model.parameters())

class Trainer(Base):
    def train(self):
        use(self.scaler, self.grad, self.pair, self.other, self.algo, self.engine_, self.thing)
        use(self.optimizer, self.trainer.scaler)

class Stranger:
    def train(self):
        use(self.algo)
"""


@pytest.mark.parametrize(
    ("expression", "role"),
    [
        ("self.scaler", ""),
        ("self.grad", "scaler"),
        ("self.pair", "scaler"),
        ("self.other", ""),
        ("self.engine_", "framework"),
        ("self.thing", ""),
        ("self.optimizer", "optimizer"),
        ("self.trainer.scaler", "scaler"),
        ("self.algo", ""),
    ],
)
def test_attributes_are_class_wide_and_inherited(expression: str, role: str) -> None:
    assert role_in(CLASSES, expression).role == role
    if expression == "self.algo":
        assert role_in(CLASSES.partition("class Stranger")[0], expression).role == "optimizer"


@pytest.mark.parametrize(
    ("made", "facts"),
    [
        ("GradScaler()", ObjectFacts("scaler", (), "yes", "65536.0", made=True)),
        ("GradScaler(1024.)", ObjectFacts("scaler", (), "yes", "1024.", made=True)),
        ("GradScaler(init_scale=2.0**10)", ObjectFacts("scaler", (), "yes", "2.0**10", made=True)),
        ('torch.amp.GradScaler("cuda", 1024.0)', ObjectFacts("scaler", (), "yes", "1024.0", made=True)),
        ("GradScaler(enabled=False)", ObjectFacts("scaler", (), "no", "65536.0", made=True)),
        ("GradScaler(enabled=args.amp)", ObjectFacts("scaler", (), "maybe", "65536.0", made=True)),
        ("GradScaler() if args.amp else None", ObjectFacts("scaler", (), "maybe", "65536.0", made=False)),
        ("None", ObjectFacts("")),
    ],
)
def test_what_is_known_of_a_scaler(made: str, facts: ObjectFacts) -> None:
    assert replace(role_in(f"def train(args):\n    s = {made}\n    use(s)\n", "s"), maker="") == facts


@pytest.mark.parametrize(
    ("made", "maker"),
    [
        ("torch.optim.SGD(model.parameters(), lr=0.1,)", "torch.optim.SGD(model.parameters(), lr=0.1)"),
        ('torch.amp.GradScaler("cuda", init_scale=2.0**10)', 'torch.amp.GradScaler("cuda", init_scale=2.0**10)'),
        ("torch.optim.SGD(p) if args.sgd else torch.optim.Adam(p)", ""),
    ],
)
def test_how_an_object_is_constructed_is_known_if_there_is_one_way(made: str, maker: str) -> None:
    assert role_in(f"import torch\ndef train(args, model, p):\n    s = {made}\n    use(s)\n", "s").maker == maker


@pytest.mark.parametrize(
    ("params", "owners"),
    [
        ("model.parameters()", {"model"}),
        ("filter(lambda p: p.requires_grad, model.parameters())", {"model"}),
        ("list(model.parameters()) + list(disc.parameters())", {"model", "disc"}),
        ('[{"params": model.body.parameters()}, {"params": disc.parameters(), "lr": 1}]', {"model.body", "disc"}),
        ("get_params(model)", {"model"}),
        ("groups", {"groups", "model"}),
    ],
)
def test_whose_parameters_an_optimizer_moves(params: str, owners: set[str]) -> None:
    code = f"def train(model, disc):\n    groups = model.parameters()\n    thing = optim.SGD({params}, lr=0.1)\n    use(thing)\n"
    assert owners <= set(role_in(code, "thing").owners)


def test_a_scaler_class_of_the_file_is_a_scaler() -> None:
    code = "class Own(GradScaler):\n    pass\n\ndef train():\n    s = Own()\n    use(s)\n"
    assert role_in(code, "s").role == "scaler"
    assert role_in(code.replace("(GradScaler)", ""), "s").role == ""
