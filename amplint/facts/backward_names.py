"""What the passes of an `autograd.Function` say by their names: which hold gradients, and which layers both passes run."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.syntax.nodes import is_reference, within

_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide)


def layers_run_again(forward: cst.FunctionDef, backward: cst.FunctionDef) -> Iterator[cst.Call]:
    """The calls in a backward pass of layers that the forward pass was given, has run, and has kept on its context.

    Args:
        forward: the forward pass.
        backward: the backward pass.
    """
    context, *given = [param.name.value for param in forward.params.params] or [""]
    run = {name for name in given if next(_calls_of(forward, frozenset({name})), None) is not None}
    kept = {
        target.target.attr.value
        for node in within(forward.body)
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Name) and node.value.value in run
        for target in node.targets
        if isinstance(target.target, cst.Attribute) and words_of(target.target.value) == {context}
    }
    return _calls_of(backward, frozenset(kept), methods=True)


def _calls_of(function: cst.FunctionDef, roots: frozenset[str], methods: bool = False) -> Iterator[cst.Call]:
    """The calls of some names, and of what loops and assignments read of them; with `methods`, of methods of these, too."""
    read: set[str] = set()
    for node in within(function.body):
        if isinstance(node, cst.For) and (roots | read) & words_of(node.iter):
            read |= words_of(node.target)
        elif isinstance(node, cst.Assign) and is_reference(node.value):
            if (roots | read) & words_of(node.value):
                read |= {word for target in node.targets for word in words_of(target.target)}
    for node in within(function.body):
        func = node.func if isinstance(node, cst.Call) else None
        own = func.attr if isinstance(func, cst.Attribute) and methods else func
        of_element = methods and isinstance(func, cst.Attribute) and bool(words_of(func.value) & read)
        if isinstance(node, cst.Call) and (of_element or (isinstance(own, cst.Name) and own.value in roots | read)):
            yield node


def gradients_of(backward: cst.FunctionDef) -> frozenset[str]:
    """The parameters of a backward pass behind its context."""
    given = [*backward.params.params[1:], backward.params.star_arg]
    return frozenset(each.name.value for each in given if isinstance(each, cst.Param))


def words_of(node: cst.CSTNode) -> set[str]:
    """The names in an expression, those of attributes too."""
    return {each.value for each in within(node) if isinstance(each, cst.Name)}


def widens(value: cst.CSTNode, half: set[str], saved: set[str]) -> bool:
    """Whether an expression mixes gradients, element by element, with saved tensors: float32 comes out.

    Args:
        value: the expression.
        half: the names that hold gradients.
        saved: the names that hold saved tensors.
    """
    for node in within(value):
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, _ARITHMETIC):
            sides = words_of(node.left), words_of(node.right)
            if any(one & half and other & saved for one, other in (sides, sides[::-1])):
                return True
    return False


def is_dtype(value: cst.BaseExpression) -> bool:
    """Whether an expression asks a tensor for its dtype."""
    return isinstance(value, cst.Attribute) and value.attr.value == "dtype"
