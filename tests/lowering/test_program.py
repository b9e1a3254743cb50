"""Calls: which function of the file they run, what its parameters mean there, and graphs as plain data."""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import subprocess
import sys

import libcst as cst
import pytest
from checkout import ROOT
from fixture_harness import fixtures_of
from lowered import file_of, found, graphs, in_loop, kinds

from amplint.lowering.graph_tools import events_in
from amplint.model.event_graph import Call
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import File
from amplint.syntax.tree import Tree

CODE = """
def free(a, b=1, *, c=None): pass

def outer(x):
    def free(y): pass
    def uses():
        free(x)  #1
    free(x)  #2
    uses()  #3

def shadowed(free):
    free(1)  #4

class Base:
    def step(self, loss): pass
    def shared(self): pass
    @staticmethod
    def static(loss, opt): pass

class Child(Base):
    def __init__(self):
        self.part = Part()
        self.twice = Part() if True else Base()

    def step(self, loss):
        super().step(loss)  #5
        self.shared()  #6
        self.static(loss, None)  #7
        self.part(loss)  #8
        self.part.run(loss)  #9
        self.unknown(loss)  #10
        self.step(loss)  #11

class Part:
    def __call__(self, loss): pass
    def run(self, loss): pass

class Module:
    def forward(self, x): pass

def main(loss, given):
    child = Child()
    child.step(loss)  #12
    child.shared()  #13
    Module()(loss)  #14
    net = Module()
    net(loss)  #15
    free(loss, c=given)  #16
    given.step(loss)  #17
    later(loss)  #18
    Base.static(loss, None)  #19
    Child.static(loss, None)  #20
    Base.shared(child)  #21

def later(loss): pass
"""
CALLEES = {
    1: "outer.free", 2: "outer.free", 3: "outer.uses", 4: None, 5: "Base.step", 6: "Base.shared", 7: "Base.static",
    8: "Part.__call__", 9: "Part.run", 10: None, 11: "Child.step", 12: "Child.step", 13: "Base.shared", 15: "Module.forward",
    16: "free", 17: None, 18: "later", 19: "Base.static", 20: "Base.static", 21: None,
}  # fmt: skip


@pytest.mark.parametrize(("number", "expected"), CALLEES.items())
def test_which_function_a_call_runs(number: int, expected: str | None) -> None:
    file = file_of(CODE)
    row = next(row for row, line in enumerate(CODE.splitlines(), start=1) if line.endswith(f"#{number}"))
    calls = [call for call in file.tree.find(cst.Call) if file.range(call).start.row == row]
    call = min(calls, key=file.tree.order)
    inside = file.tree.enclosing(call, cst.FunctionDef)
    assert inside is not None
    callee = file.callees.of(call, inside)
    assert (callee.key.partition("@")[0] if callee else None) == expected


def bound(definition: str, call: str) -> dict[str, str]:
    """What the parameters mean at the one call in `train`."""
    code = f"{definition}\n\ndef train(opt, loss, args):\n    {call}\n"
    (event,) = (event for event in events_in(graphs(code)["train"].body) if isinstance(event, Call))
    return dict(event.binding)


@pytest.mark.parametrize(
    ("params", "call", "binding"),
    [
        ("a, b", "f(loss, opt)", {"a": "loss", "b": "opt"}),
        ("a, b", "f(b=loss, a=opt)", {"a": "opt", "b": "loss"}),
        ("a, *, b=None", "f(loss, b=args.opt)", {"a": "loss", "b": "args.opt"}),
        ("a, /, b=None", "f(loss)", {"a": "loss", "b": ""}),
        ("a, b=None", "f(loss * 2, opt)", {"a": "%", "b": "opt"}),
        ("a, b=None", "f(2, opt)", {"a": "", "b": "opt"}),
        ("a, b", "f(*args)", {"a": "", "b": ""}),
        ("a, b", "f(loss, *args)", {"a": "loss", "b": ""}),
        ("a, **rest", "f(loss, other=opt)", {"a": "loss"}),
        ("a", "f(loss, opt)", {"a": "loss"}),
    ],
)
def test_what_parameters_mean(params: str, call: str, binding: dict[str, str]) -> None:
    names = [name for name in "ab" if name in binding]
    body = "".join(f"\n    {name}.backward()" for name in names)
    meant = bound(f"def f({params}):{body}", call)
    assert {name: "%" if each.startswith("%") else each for name, each in meant.items()} == binding


def test_the_receiver_is_the_first_parameter() -> None:
    definition = (
        "class Step:\n    def __call__(self, loss, opt):\n        loss.backward()\n        opt.step()\n\n"
        "stepper = Step()"
    )
    assert bound(definition, "stepper(loss, opt)") == {"self": "::stepper", "loss": "loss", "opt": "opt"}


HELPED = {
    "a function": ("def clip(m):\n    clip_grad_norm_(m.parameters(), 1.0)", "clip(model)"),
    "unscales first": (
        "def clip(s, o, m):\n    s.unscale_(o)\n    clip_grad_norm_(m.parameters(), 1.0)",
        "clip(scaler, optimizer, model)",
    ),
    "unscales another": (
        "def clip(s, o, m):\n    s.unscale_(o)\n    clip_grad_norm_(m.parameters(), 1.0)",
        "clip(scaler, other_optimizer, model)",
    ),
    "an instance": (
        "class Clip:\n    def __call__(self, m):\n        clip_grad_norm_(m.parameters(), 1.0)\n\nclip = Clip()",
        "clip(model)",
    ),
    "early return": (
        "def ready(s, o, on):\n    if not on:\n        return\n    s.unscale_(o)",
        "ready(scaler, optimizer, True)\nclip_grad_norm_(model.parameters(), 1.0)",
    ),
}
EXPECTED = {
    "a function": True,
    "unscales first": False,
    "unscales another": True,
    "an instance": True,
    "early return": False,
}


@pytest.mark.parametrize("name", HELPED)
def test_helpers_take_part(name: str) -> None:
    before, call = HELPED[name]
    code = in_loop(f"scaler.scale(loss).backward()\n{call}\nscaler.step(optimizer)\nscaler.update()", before=before)
    assert ("clip-before-unscale" in kinds(code)) is EXPECTED[name]


@pytest.mark.parametrize("receives", ["scaler", "optimizer", "[scaler]", "scaler=scaler"])
def test_an_unknown_call_that_gets_hold_of_an_object_makes_its_state_unknown(receives: str) -> None:
    body = "scaler.scale(loss).backward()\n{}\nclip_grad_norm_(model.parameters(), 1.0)\nscaler.step(optimizer)\nscaler.update()"
    for name in ("elsewhere.step", "prepare", "elsewhere.prepare", "make_scaler"):
        assert kinds(in_loop(body.format(f"{name}({receives})"))) == [], name
    assert kinds(in_loop(body.format(f"elsewhere.log_state({receives})"))) == ["clip-before-unscale"], (
        "by name, harmless"
    )
    assert kinds(in_loop(body.format("elsewhere.prepare(batch)"))) == ["clip-before-unscale"]


# -- plain data ----------------------------------------------------------------------------------------------------------


def test_graphs_are_plain_data() -> None:
    """A graph can be stored and sent: it holds no tree, and comes back equal."""
    for fixture in fixtures_of()[::3]:
        file = File(Tree(fixture.source), (2, 3))
        functions = file.analysis.functions
        again = pickle.loads(pickle.dumps(functions))
        assert again == functions
        assert {key: graph.objects for key, graph in again.items()} == {key: g.objects for key, g in functions.items()}
        for graph in functions.values():
            json.dumps(dataclasses.asdict(graph), default=_sorted)


def _sorted(value: object) -> list[object]:
    assert isinstance(value, (set, frozenset)), f"{type(value).__name__} is no plain data"
    return sorted(value)


HAZARDS_OF_ALL = """
from fixture_harness import fixtures_of
from amplint.syntax.tree import Tree
from amplint.rule import File
for fixture in fixtures_of()[::9]:
    for found in File(Tree(fixture.source), (2, 3)).analysis.hazards:
        print(fixture, found.hazard)
"""


def test_hazards_do_not_depend_on_the_hash_seed() -> None:
    def run(seed: str) -> str:
        settings = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "tests" / "support")}
        command = [sys.executable, "-c", HAZARDS_OF_ALL]
        return subprocess.run(command, env=settings, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    first = run("1")
    assert "clip-before-unscale" in first
    assert run("2") == first


def test_found_on_both_sides_of_a_file_of_helpers() -> None:
    """The same helper is judged for each caller: once wrong, once right."""
    before = "def clip(m):\n    clip_grad_norm_(m.parameters(), 1.0)\n"
    right = "scaler.scale(loss).backward()\nscaler.unscale_(optimizer)\nclip(model)\nscaler.step(optimizer)\nscaler.update()"
    assert kinds(in_loop(right, before=before)) == []
    wrong = right.replace("scaler.unscale_(optimizer)\n", "")
    both = in_loop(right, before=before) + "\n" + in_loop(wrong).split("\n\n\n")[-1].replace("def train", "def other")
    assert [kind for _, kind in sorted(found(both))] == ["clip-before-unscale"]


def test_a_class_method_calls_another_method_of_its_class() -> None:
    code = """
        import torch

        class Engine:
            @staticmethod
            def clip(model):
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)

            @classmethod
            def step(cls, model, optimizer, scaler):
                cls.clip(model)
                scaler.step(optimizer)
                scaler.update()

        def train(loader, model, criterion):
            optimizer = torch.optim.Adam(model.parameters())
            scaler = torch.amp.GradScaler("cuda")
            for data, target in loader:
                optimizer.zero_grad()
                scaler.scale(criterion(model(data), target)).backward()
                Engine.step(model, optimizer, scaler)
    """
    assert found(code) == {(7, HazardKind.CLIP_BEFORE_UNSCALE)}
