"""Flags that a function in sight gives back, by which its caller learns no more than that it called a scaler's step."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.lowering.function_scope import FunctionScope
from amplint.model import vocabulary
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.nodes import within
from amplint.syntax.tree import Tree
from amplint.syntax.words import words


def tells_of_call(scope: FunctionScope, name: cst.Name) -> bool:
    """Whether a name holds such a flag, alone or as one of several values: `loss, stepped = self.train_step(batch)`.

    Args:
        scope: the function that asks for it.
        name: the name.
    """
    bindings, tree = scope.bound.get(name.value, ()), scope.program.tree
    target = bindings[0].node if len(bindings) == 1 else None
    assign = tree.enclosing(target, cst.Assign) if isinstance(target, cst.Name) else None
    if target is None or not isinstance(assign, cst.Assign) or not isinstance(assign.value, cst.Call):
        return False
    callee = scope.program.callees.of(assign.value, scope.node)
    if callee is None or _judges(callee.node):
        return False
    flags = list(_flags(callee.node, _place(target, assign), tree))
    told = {path_of(each) for each in flags}
    return told <= {"True", "False"} and all(_is_behind_step(each, tree) for each in flags if path_of(each) == "True")


def _place(target: cst.CSTNode, assign: cst.Assign) -> int:
    """Which of several values a name gets; -1 where it gets the only one."""
    pattern = assign.targets[0].target
    elements = pattern.elements if isinstance(pattern, cst.Tuple) else ()
    return next((at for at, each in enumerate(elements) if each.value is target), -1)


def _flags(function: cst.FunctionDef, place: int, tree: Tree) -> Iterator[cst.BaseExpression]:
    """What a function returns at a place, and what it assigns to a name that it returns there."""
    for statement in tree.inside(function, cst.Return):
        value = statement.value
        if place >= 0:
            value = (
                value.elements[place].value if isinstance(value, cst.Tuple) and len(value.elements) > place else None
            )
        assigned = [each.value for each in tree.inside(function, cst.Assign) if value and _names(each, path_of(value))]
        yield from assigned or [value or cst.Name("None")]


def _names(assign: cst.Assign, path: str) -> bool:
    return path != "" and any(path_of(each.target) == path for each in assign.targets)


def _judges(function: cst.FunctionDef) -> bool:
    """Whether a function asks for the scale, for overflows, or whether a step is to be left out."""
    asked = [each.test for each in within(function) if isinstance(each, (cst.If, cst.IfExp, cst.While))]
    found = " ".join(word for each in asked for word in words(each))
    asks = vocabulary.STEP_GATE.search(found) or vocabulary.TROUBLE.search(found)
    return asks is not None or any(called_name(each) == "get_scale" for each in within(function))


def _is_behind_step(flag: cst.BaseExpression, tree: Tree) -> bool:
    """Whether a step with an optimizer is called in the same block, before a flag is set or returned."""
    line = tree.enclosing(flag, cst.SimpleStatementLine)
    block = tree.parent(line) if line is not None else None
    for statement in block.body if isinstance(block, cst.IndentedBlock) else ():
        if statement is line:
            return False
        if any(isinstance(each, cst.Call) and called_name(each) == "step" and each.args for each in within(statement)):
            return isinstance(statement, cst.SimpleStatementLine)
    return False
