"""Schedules of the author's own: whether one counts its calls, or follows the steps that its optimizer has really taken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

import libcst as cst

from amplint.model import vocabulary
from amplint.model.torch import names as torch_names
from amplint.syntax.access_paths import called, literal_key, path_of
from amplint.syntax.classes import ClassInfo
from amplint.syntax.tree import Tree
from amplint.syntax.value_flow import ValueFlow
from amplint.syntax.words import words

_STEPS_TAKEN = frozenset({"_step_count", "_opt_called"})
"""What torch's schedulers note on an optimizer when it steps."""
_READING: tuple[type[cst.BaseExpression], ...] = (cst.Attribute, cst.Subscript, cst.Call, cst.Name)
_SUCCESSOR = re.compile(r"(^|_)(successor|after(_\w+)?|next|then|inner|wrapped)$")
"""What the schedule is called that a warm-up hands on to."""
_OWN_COUNT = re.compile(r"step|epoch|iter|count|update|calls|current|(^|[._])(it|t|n|i|num|idx|index|tick)s?$")
_OF_RATES = re.compile(r"(^|_)(lrs?|rates?|optim\w*|param_groups)(_|$)")
_SETS_RATE = re.compile(r"(^|_)(lr|learning_rate|rate)(_|$)")


class Pace(Enum):
    """By what a schedule advances."""

    CALLS = "each call"
    OTHER = "the optimizer's own count of steps, a metric, or what else it asks for"


def pace(info: ClassInfo, tree: Tree) -> Pace | None:
    """By what the schedules of a class advance; None for a class of something else, and where that cannot be told.

    Args:
        info: the class.
        tree: the file, with those that it leads to.
    """
    bases = frozenset().union(*(each.base_names for each in info.lineage))
    if bases & torch_names.NOT_PER_STEP:
        return Pace.OTHER
    of_torch = any(name.startswith(torch_names.SCHEDULER_CLASSES) for name in bases)
    step = info.method("step")
    if step is None:
        return Pace.CALLS if of_torch else None
    reads = (node for kind in _READING for node in tree.inside(step, kind))
    if any(_asks_for_steps(node, info, tree) for node in reads):
        return Pace.OTHER
    if _hands_on(step, tree):
        return None
    return Pace.CALLS if of_torch or (_counts(step, tree) and _sets_rates(info, tree)) else None


def is_given_nothing(call: cst.Call, tree: Tree, flow: ValueFlow) -> bool:
    """Whether a call tells a schedule nothing, so that it advances by one: also where a method hands on whatever it is given
    (`schedule.step(*args)`), and the calls in sight give it nothing.

    Args:
        call: the call.
        tree: the file.
        flow: knows the calls in it.
    """
    around = tree.function(call)
    if not call.args or not isinstance(around, cst.FunctionDef):
        return not call.args
    handed = around.params.star_arg.name.value if isinstance(around.params.star_arg, cst.Param) else ""
    if len(call.args) > 1 or call.args[0].star != "*" or path_of(call.args[0].value) != handed:
        return False
    outer = [each for each, _ in flow.methods(around.name.value) if tree.function(each) is not around]
    return bool(outer) and not any(each.args for each in outer)


def is_of_something_else(info: ClassInfo, tree: Tree) -> bool:
    """Whether the schedules of a class are of no learning rate: its `step` has nothing else step, and no word of it is of a rate.

    Args:
        info: the class.
        tree: the file, with those that it leads to.
    """
    step = info.method("step")
    if (
        step is None
        or not info.closed
        or any(name.startswith("torch.") for each in info.lineage for name in each.base_names)
    ):
        return False
    words_of_it = {word for each in info.lineage for word in tree.words(each.node)}
    steps_more = any(each.attr.value == "step" for each in tree.inside(step, cst.Attribute))
    return not steps_more and not any(map(_OF_RATES.search, words_of_it))


def may_set_rates(method: str) -> bool:
    """Whether a method that is not called `step` is called like one that sets learning rates."""
    return _SETS_RATE.search(method) is not None


def counts_calls(info: ClassInfo, method: str, tree: Tree) -> bool:
    """Whether a method that is not called `step` advances the rates of an optimizer at each call (`update_lr`).

    Args:
        info: the class of the object that it is called on.
        method: its name.
        tree: the file, with those that it leads to.
    """
    node = info.method(method)
    if node is None:
        return False
    reads = (each for kind in _READING for each in tree.inside(node, kind))
    if any(_asks_for_steps(each, info, tree) for each in reads) or _hands_on(node, tree):
        return False
    return _counts(node, tree) and _sets_rates(info, tree)


def _asks_for_steps(node: cst.CSTNode, info: ClassInfo, tree: Tree) -> bool:
    """Whether a node of `step` reads what tells of steps really taken, on a path that is not switched off."""
    match node:
        case cst.Attribute(attr=cst.Name(value=name)) if name in _STEPS_TAKEN:
            asks = called(path_of(node.value)) != "self"
        case cst.Subscript():
            asks = literal_key(node) == "step"
        case cst.Call(
            func=cst.Attribute(attr=cst.Name(value="get")), args=[cst.Arg(value=cst.SimpleString() as key), *_]
        ):
            asks = key.value.strip("'\"") == "step"
        case cst.Name():
            asks = vocabulary.FINITE.search(node.value) is not None or node.value in ("get_scale", "skipped")
        case _:
            asks = False
    return asks and not any(_is_off(test, info) for test in _tests_around(node, tree))


def _tests_around(node: cst.CSTNode, tree: Tree) -> Iterator[cst.BaseExpression]:
    """The tests of the branches in whose bodies a node stands, within its function."""
    below = node
    for above in tree.ancestors(node):
        if isinstance(above, cst.FunctionDef):
            return
        if isinstance(above, cst.If) and above.body is below:
            yield above.test
        below = above


def _is_off(test: cst.BaseExpression, info: ClassInfo) -> bool:
    """Whether a test is of an attribute that the class sets to False, and to nothing else."""
    if not isinstance(test, cst.Attribute) or path_of(test.value) != "self":
        return False
    values = info.values(test.attr.value)
    return bool(values) and all(isinstance(value, cst.Name) and value.value == "False" for value in values)


def _hands_on(step: cst.FunctionDef, tree: Tree) -> bool:
    """Whether a step takes steps of something else (`self.optimizer.step()`) than its base, or a schedule to go on with."""
    stepped = (call.func for call in tree.inside(step, cst.Call) if isinstance(call.func, cst.Attribute))
    others = (func.value for func in stepped if func.attr.value == "step" and "super" not in set(words(func.value)))
    names = (called(path_of(each)) for each in others)
    return any(vocabulary.SCHEDULER.search(name) is None and _SUCCESSOR.search(name) is None for name in names)


def _counts(step: cst.FunctionDef, tree: Tree) -> bool:
    """Whether a method counts its calls, on every way through it (`self.current_step += 1`)."""
    for change in (*tree.inside(step, cst.AugAssign), *tree.inside(step, cst.Assign)):
        line = tree.parent(change)
        block = tree.parent(line) if line is not None else None
        own = _added_to(change)
        if block is step.body and own.startswith("self.") and _OWN_COUNT.search(own) is not None:
            return True
    return False


def _added_to(change: cst.CSTNode) -> str:
    """The path of what a statement adds to: `self.count` of `self.count += 1` and of `self.count = self.count + 1`."""
    match change:
        case cst.AugAssign(operator=cst.AddAssign()):
            return path_of(change.target)
        case cst.Assign(
            targets=[cst.AssignTarget(target=target)], value=cst.BinaryOperation(operator=cst.Add()) as sum_
        ):
            own = path_of(target)
            return own if own in (path_of(sum_.left), path_of(sum_.right)) else ""
    return ""


def _sets_rates(info: ClassInfo, tree: Tree) -> bool:
    """Whether a class sets the learning rates of parameter groups."""
    return any(
        isinstance(target.target, cst.Subscript) and literal_key(target.target) == "lr"
        for each in info.lineage
        for target in tree.inside(each.node, cst.AssignTarget)
    )
