"""Functions that choose what they make by a literal argument: `Accelerator(mixed_precision="fp16")` has a scaler."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from amplint.syntax.names import Names
from amplint.syntax.tree import Tree

_Known = Callable[[str], object]
"""The value of a parameter, by its name; raises `_Undecided` where no literal tells it."""


class _Undecided(Exception):
    """A function asks for more than the literal arguments of the call."""


def returned_for(function: cst.FunctionDef, call: cst.Call, tree: Tree, names: Names) -> cst.BaseExpression | None:
    """What a call of a function returns, if the literals among its arguments decide that.

    Args:
        function: the function, in whatever file.
        call: the call of it.
        tree: the tree that the function is in.
        names: what the names of that file mean.
    """
    given = _given(function, call)

    def known(name: str) -> object:
        value = _constant(given[name], names) if name in given else None
        if value is None:
            raise _Undecided
        return _literal(value, tree)

    try:
        return _first_return(function.body.body, known, tree)
    except _Undecided:
        return None


def _given(function: cst.FunctionDef, call: cst.Call) -> dict[str, cst.BaseExpression | None]:
    """What a call gives to the parameters of a function, or leaves at their defaults; None for what is not known."""
    params = function.params
    ordered = [param.name.value for param in (*params.posonly_params, *params.params)]
    given: dict[str, cst.BaseExpression | None] = {
        param.name.value: param.default for param in (*params.posonly_params, *params.params, *params.kwonly_params)
    }
    if any(arg.star for arg in call.args):
        given = dict.fromkeys(given)
    free = iter(ordered)
    for arg in call.args:
        if not arg.star:
            given[arg.keyword.value if arg.keyword is not None else next(free, "")] = arg.value
    return given


def _constant(value: cst.BaseExpression | None, names: Names) -> cst.BaseExpression | None:
    """What an argument stands for: itself, or what a name is assigned once."""
    bound = names.bindings(value.value, value) if isinstance(value, cst.Name) else []
    return bound[0].value if len(bound) == 1 else value if not bound else None


def _literal(node: cst.BaseExpression, tree: Tree) -> Any:
    """The value of a literal.

    Raises:
        _Undecided: it is an expression of another kind, or a set or a dict of what cannot be in one.
    """
    try:
        return ast.literal_eval(tree.module.code_for_node(node))
    except (ValueError, SyntaxError, TypeError) as error:
        raise _Undecided from error


def _first_return(statements: Sequence[cst.CSTNode], known: _Known, tree: Tree) -> cst.BaseExpression | None:
    """What the first `return` that is reached returns.

    Raises:
        _Undecided: a test on the way there cannot be decided.
    """
    for statement in statements:
        if isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[-1], cst.Return):
            return statement.body[-1].value
        if isinstance(statement, cst.If):
            taken = statement.body if _truth(statement.test, known, tree) else statement.orelse
            inner = taken.body if isinstance(taken, cst.Else) else taken
            block = [inner] if isinstance(inner, cst.If) else inner.body if inner is not None else ()
            found = _first_return(block, known, tree)
            if found is not None:
                return found
        elif not isinstance(statement, (cst.SimpleStatementLine, cst.FunctionDef, cst.ClassDef)):
            raise _Undecided
    return None


def _truth(test: cst.BaseExpression, known: _Known, tree: Tree) -> bool:
    """The truth of a test that compares a parameter with literals.

    Raises:
        _Undecided: it asks for something else.
    """
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1 and isinstance(test.left, cst.Name):
        operator, right = test.comparisons[0].operator, test.comparisons[0].comparator
        if isinstance(operator, (cst.Equal, cst.Is, cst.In)):
            value, wanted = known(test.left.value), _literal(right, tree)
            try:
                return value in wanted if isinstance(operator, cst.In) else bool(value == wanted)
            except TypeError as error:
                raise _Undecided from error
    raise _Undecided
