"""Contexts that code enters: by `with`, or by a stack that leaves them for it (`contextlib.ExitStack`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.tree import Tree

_ENTERS = frozenset({"enter_context", "enter_async_context"})
_LEAVES = frozenset({"close", "aclose"})


def may_enter(text: str) -> bool:
    """Whether code of some text may enter a context by a stack; without, `entered_by` finds nothing in it."""
    return any(word in text for word in _ENTERS)


def entered_by(statement: cst.CSTNode) -> cst.BaseExpression | None:
    """The context that a statement enters for the rest of its block (`stack.enter_context(region)`), or an `if` on both of its
    sides; None for any other."""
    call = _entering(statement)
    return call.args[0].value if call is not None else None


def left_behind(statement: cst.CSTNode, following: Sequence[cst.CSTNode]) -> int:
    """How many of the statements behind one that enters a context run in it: up to the one that closes the stack, or all.

    Args:
        statement: what enters the context.
        following: the rest of its block.
    """
    entering = _entering(statement)
    for count, each in enumerate(following):
        call = _called(each)
        if (
            call is not None
            and called_name(call) in _LEAVES
            and entering is not None
            and _owner(call) == _owner(entering)
        ):
            return count
    return len(following)


def _entering(statement: cst.CSTNode) -> cst.Call | None:
    """The call by which a statement enters a context; of an `if`, one that both of its sides have alike."""
    match statement:
        case cst.If(body=body, orelse=cst.Else(body=other)):
            sides = [[call for each in side.body if (call := _entering(each)) is not None] for side in (body, other)]
            return next((one for one in sides[0] if any(map(one.deep_equals, sides[1]))), None)
    call = _called(statement)
    return call if call is not None and called_name(call) in _ENTERS and len(call.args) == 1 else None


def _called(statement: cst.CSTNode) -> cst.Call | None:
    """The call of a method that a statement consists of, or whose answer it keeps."""
    small = statement.body[0] if type(statement) is cst.SimpleStatementLine and len(statement.body) == 1 else None
    value = small.value if type(small) is cst.Expr or type(small) is cst.Assign else None
    return value if type(value) is cst.Call and type(value.func) is cst.Attribute else None


def _owner(call: cst.Call) -> str:
    return path_of(cst.ensure_type(call.func, cst.Attribute).value)


def entered_in(tree: Tree, scope: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The contexts that are entered at and below a node: the items of `with`, and those that stacks enter.

    Args:
        tree: the file.
        scope: the node.
    """
    yield from (item.item for item in tree.inside(scope, cst.WithItem))
    for call in tree.inside(scope, cst.Call):
        yield from (arg.value for arg in call.args if called_name(call) in _ENTERS)
