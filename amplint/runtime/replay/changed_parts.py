"""What a changed part of a statement is: a condition on an object, a part of a model, an argument that no event tells."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from amplint.model.literals import number


def asked_object(test: ast.expr) -> str:
    """The object of which a condition asks whether there is one, as it is written; empty for other conditions."""
    if isinstance(test, ast.Compare) and ast.unparse(test).endswith(" is not None"):
        return ast.unparse(test.left)
    return ast.unparse(test) if isinstance(test, (ast.Name, ast.Attribute)) else ""


def shape_of_test(test: ast.expr) -> str:
    """A condition without its numbers and comparisons."""
    return re.sub(r"Constant\(value=[\d.]+\)|ops=\[\w+\(\)\]", "", ast.dump(test))


def are_parts_of_one(old: ast.AST | None, new: ast.AST | None) -> bool:
    """Whether two names stand for parts of one object, or for one of them and the whole: `model.body`, `model`.

    Args:
        old: what stood there.
        new: what stands there now.
    """
    names = [
        ast.unparse(each).removeprefix("self.") for each in (old, new) if isinstance(each, (ast.Name, ast.Attribute))
    ]
    return len(names) == 2 and names[0].split(".")[0] == names[1].split(".")[0]


def has_parameters_taken(node: ast.AST | None, statement: ast.stmt | None) -> bool:
    """Whether a statement takes the parameters of what a name in it stands for.

    Args:
        node: the name.
        statement: the statement.
    """
    parts = ast.walk(statement) if statement is not None else ()
    return any(isinstance(each, ast.Attribute) and each.attr == "parameters" and each.value is node for each in parts)


def is_unread_argument(node: ast.AST, statement: ast.stmt) -> bool:
    """Whether a part of a call decides what no event tells: the gradient that is given, the kind of a norm.

    Args:
        node: the part.
        statement: the statement around it.
    """
    for call in ast.walk(statement):
        if isinstance(call, ast.Call) and isinstance(call.func, (ast.Attribute, ast.Name)):
            name = ast.unparse(call.func).rpartition(".")[2]
            is_backward = name == "backward"
            unread: list[ast.AST] = [*call.args, *call.keywords] if is_backward else []
            unread += [each for each in call.args[2:3] if "clip" in name and not _is_number(each)]
            unread += [each for each in call.keywords if each.arg == "norm_type" and not _is_number(each.value)]
            if any(one is node for each in unread for one in ast.walk(each)):
                return True
    return False


def _is_number(node: ast.expr) -> bool:
    return number(ast.unparse(node)) is not None


def without_known(tree: ast.AST, known: ast.AST | None) -> Iterator[ast.AST]:
    """The nodes of a tree, but for a part that is like one that is known.

    Args:
        tree: the tree.
        known: the part that is known; None for nothing.
    """
    if known is not None and tree is not known and ast.dump(tree) == ast.dump(known):
        return
    yield tree
    for child in ast.iter_child_nodes(tree):
        yield from without_known(child, known)


def innermost_calls(node: ast.AST, statement: ast.stmt) -> list[ast.Call]:
    """The innermost call around a part of a statement; where that asks for parameters, also the call that is given them.

    Args:
        node: the part.
        statement: the statement around it.
    """
    around = [*_around(node, statement)]
    asks = bool(around) and ast.unparse(around[-1].func).endswith(".parameters")
    return around[-2:] if asks else around[-1:]


def _around(node: ast.AST, statement: ast.stmt) -> Iterator[ast.Call]:
    """The calls around a part of a statement, the outermost first."""
    for child in ast.walk(statement):
        if isinstance(child, ast.Call) and any(each is node for each in ast.walk(child)):
            yield child
