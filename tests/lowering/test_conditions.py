"""Conditions: equal ones have equal keys, and each says what it is about."""

from __future__ import annotations

from itertools import combinations

import libcst as cst
import pytest
from lowered import file_of

from amplint.lowering.conditions import ConditionReader
from amplint.lowering.function_scope import FunctionScope
from amplint.model import event_graph
from amplint.model.event_graph import Both, Condition, Not
from amplint.model.references import reference

CODE = """
import torch
scaler = torch.amp.GradScaler("cuda")

class Trainer:
    def train(self, loader, args, flag, n):
        before = scaler.get_scale()
        grew = before <= scaler.get_scale()
        due = flag and not args.late
        for step, batch in enumerate(loader):
            loss = 0
            if {}:
                pass
"""


def condition(text: str) -> Condition:
    """How a condition in a method is read."""
    file = file_of(CODE.format(text))
    program = file.program
    (function,) = file.tree.find(cst.FunctionDef)
    (branch,) = file.tree.find(cst.If)
    return ConditionReader(FunctionScope(program, function)).read(branch.test)


def plain(text: str) -> tuple[str, str, bool]:
    """Key, kind and truth side of a condition that is a single test."""
    read, truth = condition(text), True
    while isinstance(read, Not):
        read, truth = read.part, not truth
    assert isinstance(read, event_graph.Test), read
    return read.key, read.kind, truth


EQUAL = [
    ["args.amp", "(args.amp)", "bool(args.amp)", "args.amp is True", "args.amp == True", "args.amp is not None"],
    ["not args.amp", "args.amp is None", "args.amp == None", "args.amp is False", "not (args.amp)"],
    ["scaler is not None", "scaler", "scaler != None"],
    ["step % 4 == 0", "(step % 4) == 0", "0 == step % 4", "step%4==0", "step % 4 is 0"],
    ["step % 4 != 0", "not step % 4 == 0"],
    ["step % 8 == 0"],
    ["self.step % 4 == 0"],
    ['args.kind == "a"', '"a" == args.kind', "args.kind == 'a'"],
    ['args.kind == "b"'],
    ["args.kinds[0]"],
    ["args.kinds[1]"],
    ["isinstance(n, int)"],
    ["isinstance(n, float)"],
    ["n > 3", "(n > 3)"],
    ["n > 4"],
    ["n >= 3"],
]


@pytest.mark.parametrize("texts", EQUAL, ids=lambda texts: texts[0])
def test_equal_conditions_are_one(texts: list[str]) -> None:
    assert len({(plain(text)[0], plain(text)[2]) for text in texts}) == 1


def test_other_conditions_are_others() -> None:
    for one, other in combinations((plain(texts[0]) for texts in EQUAL), 2):
        assert (one[0], one[2]) != (other[0], other[2])


def test_a_variable_stands_for_its_only_value() -> None:
    assert condition("due") == condition("flag and not args.late")
    assert condition("not due") == Not(condition("due"))
    assert isinstance(condition("flag or args.late"), Both)


@pytest.mark.parametrize(
    ("text", "kind", "truth"),
    [
        # Whether AMP is on: the true side is "on".
        ("args.amp", "mode", True),
        ("args.use_amp", "mode", True),
        ("self.fp16", "mode", True),
        ("not args.amp", "mode", False),
        ("scaler is None", "mode", False),
        ("scaler is not None", "mode", True),
        ("scaler.is_enabled()", "mode", True),
        ('args.precision == "fp16"', "mode", True),
        ('args.precision != "fp16"', "mode", False),
        ('args.precision == "fp32"', "mode", False),
        ("args.dtype == torch.float16", "mode", True),
        ('args.precision in ("fp16", "16")', "mode", True),
        # Whether nothing is scaled, whatever else AMP does.
        ('args.precision == "bf16"', "unscaled", True),
        ('args.precision == "bf16-mixed"', "unscaled", True),
        ('args.precision == "16-true"', "unscaled", True),
        ('args.precision != "fp8"', "unscaled", False),
        ("args.dtype == torch.bfloat16", "unscaled", True),
        ('args.precision in ("no", "bf16")', "unscaled", True),
        ('args.precision not in ["fp16", "bf16"]', "unscaled", True),
        ('args.precision in ("16-mixed", "bf16-mixed")', "unscaled", False),
        ('args.precision.startswith("bf")', "unscaled", True),
        ('args.precision[:2] != "bf"', "unscaled", False),
        ('args.precision.startswith("fp")', "unscaled", False),
        ('args.precision.endswith(("bf16", "32"))', "unscaled", True),
        ("args.kind is torch.bfloat16", "unscaled", True),
        ("args.bf16", "unscaled", True),
        ('cfg["use_bf16"]', "unscaled", True),
        # The same all through a run.
        ("flag", "config", True),
        ("self.verbose", "config", True),
        ("n > 3", "config", True),
        ("args.clip is not None", "config", True),
        ("isinstance(n, int)", "config", True),
        ('args.kind.startswith("bf")', "config", True),
        ('getattr(args, "clip", False)', "config", True),
        ('int(cfg.get("clip")) > 1', "config", True),
        ('type(n).__name__ == "Adam"', "config", True),
        ('args.kind == "a"', "config", True),
        ("torch.isfinite(loss)", "config", True),
        # Another one at each iteration.
        ("draw() < 0.5", "varying", True),
        ("step == len(loader) - 1 + draw()", "varying", True),
        ("step >= len(loader) - 1", "varying", True),
        ("self.best > n", "varying", True),
        # Where in the run: the true side of a moment comes now and then.
        ("step > 3", "range", True),
        ("step < len(self.schedulers)", "range", True),
        ("self.step < self.warmup_steps", "range", True),
        ("step % 4 == 0", "moment", True),
        ("step % 4", "moment", False),
        ("step % 4 != 0", "moment", False),
        ("self.step % 4 == 0", "moment", True),
        ("self.global_step % self.log_every == 0", "moment", True),
        ("step == len(loader) - 1", "end", True),
        ("self.trainer.is_last_batch", "end", True),
        ("not last_batch", "end", False),
        ("step in (10, n)", "moment", True),
        ("step not in self.cfg.milestones", "moment", False),
        # Whether the step was skipped: the true side is "skipped".
        ("scaler.get_scale() < before", "skipped", True),
        ("before > scaler.get_scale()", "skipped", True),
        ("scaler.get_scale() >= before", "skipped", False),
        ("before <= scaler.get_scale()", "skipped", False),
        ("not scaler.get_scale() < before", "skipped", False),
        ("grew", "skipped", False),
        ("not grew", "skipped", True),
        # Something else that may tell.
        ("scaler.get_scale() == before", "gate", True),
        ("scaler.get_scale() <= before", "gate", True),
        ("args.skipped", "gate", True),
        ("torch.isfinite(norm)", "gate", True),
        ("torch.isfinite(grad_loss_norm)", "gate", True),
        ("self.optimizer._opt_called", "gate", True),
        ("found_inf == 0", "gate", True),
        ("scaler_found_inf", "gate", True),
        # Constants.
        ("True", "true", True),
        ("False", "false", True),
        ("1", "true", True),
        ("0", "false", True),
    ],
)
def test_kinds(text: str, kind: str, truth: bool) -> None:
    assert plain(text)[1:] == (kind, truth)


def test_references_are_told_from_text() -> None:
    key, _, _ = plain("args.clip > n")
    assert "‹args.clip›" in key and "‹n›" in key
    read = condition("args.clip > n")
    assert isinstance(read, event_graph.Test) and read.refs == {"args.clip", "n"}
    assert plain('args.kind == "n"')[0].count("‹") == 1, "a string names nothing"


def test_module_level_names_are_the_same_in_every_function() -> None:
    assert plain("scaler")[0] == "‹::scaler›"
    assert plain("flag")[0] == "‹flag›"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("before is None or scaler.get_scale() >= before", ["gate", "skipped"]),
        ("before is not None and scaler.get_scale() < before", ["gate", "skipped"]),
        ("args.limit is None or scaler.get_scale() >= before", ["config", "skipped"]),
        ("flag or step < n", ["config", "range"]),
    ],
)
def test_whether_there_is_a_scale_to_compare_with_belongs_to_the_comparison(text: str, kinds: list[str]) -> None:
    assert [test.kind for test in event_graph.tests_in(condition(text))] == kinds


def counted(loop: str, test: str) -> list[tuple[str, bool]]:
    """The kinds of the conditions that a loop asks, each with whether its references are the author's."""
    code = f"def f(scaler, optimizer, xs, n):\n    {loop}\n        if {test}:\n            scaler.update()\n"
    graphs = file_of(code + "        scaler.step(optimizer)\n").analysis.functions
    (graph,) = (graph for key, graph in graphs.items() if key.startswith("f@"))
    waiting: list[event_graph.Node] = [graph.body]
    found: list[tuple[str, bool]] = []
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, event_graph.Branch):
            tests = event_graph.tests_in(node.condition)
            found += [(each.kind, not all(map(is_unnamed, each.refs))) for each in tests]
        waiting += event_graph.parts_of(node)
    return found


def is_unnamed(name: str) -> bool:
    """Whether a reference is none of the author's."""
    return reference(name).is_temporary


@pytest.mark.parametrize(
    ("loop", "test"),
    [
        ("for i, x in enumerate(xs):", "i"),
        ("for i, x in enumerate(xs):", "not i"),
        ("for i, x in enumerate(xs):", "i > 0"),
        ("for i, x in enumerate(xs):", "1 <= i"),
        ("for i in range(n):", "i != 0"),
        ("for i in range(n):", "0 == i"),
        ("for i, x in enumerate(xs, 1):", "i > 1"),
        ("for i, x in enumerate(xs, start=1):", "i < 2"),
    ],
)
def test_a_loop_that_counts_is_asked_for_its_first_iteration(loop: str, test: str) -> None:
    assert counted(loop, test) == [("range", False), ("moment", False)]


@pytest.mark.parametrize(
    ("loop", "test"),
    [
        ("for i, x in enumerate(xs):", "i > 1"),
        ("for i, x in enumerate(xs):", "i == 1"),
        ("for i, x in enumerate(xs):", "i % 2"),
        ("for i, x in enumerate(xs):", "i > n"),
        ("for i, x in enumerate(xs, 1):", "i"),
        ("for i, x in enumerate(xs, n):", "i > 0"),
        ("for i in xs:", "i > 0"),
    ],
)
def test_other_questions_are_not_about_the_first_iteration(loop: str, test: str) -> None:
    assert all(named for _, named in counted(loop, test))
