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
from amplint.syntax.words import words

_STEPS_TAKEN = frozenset({"_step_count", "_opt_called"})
"""What torch's schedulers note on an optimizer when it steps."""
_READING: tuple[type[cst.BaseExpression], ...] = (cst.Attribute, cst.Subscript, cst.Call, cst.Name)
_OWN_COUNT = re.compile("step|epoch|iter|count|update")


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
    """Whether a step takes steps of something else (`self.after_scheduler.step()`), other than those of its base."""
    called_steps = (call.func for call in tree.inside(step, cst.Call) if isinstance(call.func, cst.Attribute))
    return any(func.attr.value == "step" and "super" not in set(words(func.value)) for func in called_steps)


def _counts(step: cst.FunctionDef, tree: Tree) -> bool:
    """Whether a step counts itself, on every way through it (`self.current_step += 1`)."""
    for change in tree.inside(step, cst.AugAssign):
        line = tree.parent(change)
        block = tree.parent(line) if line is not None else None
        own = path_of(change.target)
        if block is step.body and isinstance(change.operator, cst.AddAssign) and own.startswith("self."):
            return _OWN_COUNT.search(own) is not None
    return False


def _sets_rates(info: ClassInfo, tree: Tree) -> bool:
    """Whether a class sets the learning rates of parameter groups."""
    return any(
        isinstance(target.target, cst.Subscript) and literal_key(target.target) == "lr"
        for each in info.lineage
        for target in tree.inside(each.node, cst.AssignTarget)
    )
