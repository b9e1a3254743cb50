"""What the text of one class says of its objects: the methods that it has, and the attributes that it gives a value."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Definition, method_of


def given_by_class(owner: ast.AST) -> Iterator[str]:
    """The names of the methods that a class has, and of the attributes that it gives a value.

    Args:
        owner: the class.
    """
    for each in owner.body if isinstance(owner, ast.ClassDef) else ():
        if isinstance(each, ast.FunctionDef) and not is_announced_here(each):
            yield each.name
        elif isinstance(each, ast.Assign):
            yield from (target.id for target in each.targets if isinstance(target, ast.Name))
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign) and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            parts = (part for target in node.targets for part in ast.walk(target))
            own = (part for part in parts if isinstance(part, ast.Attribute) and spelling_of(part.value) == "self")
            yield from (part.attr for part in own)


def values_of(owner: ast.AST, attribute: str) -> list[ast.expr]:
    """What a class assigns to an attribute of its objects.

    Args:
        owner: the class.
        attribute: the name of the attribute.
    """
    own = f"self.{attribute}"
    assigns = (node for node in ast.walk(owner) if isinstance(node, ast.Assign))
    return [each.value for each in assigns if any(spelling_of(target) == own for target in each.targets)]


def told_to_constructor(heirs: Sequence[Definition], base: Definition) -> Iterator[str]:
    """The attributes that the constructor of a class gives what heirs say instead of a default: `super().__init__(logits=True)`.

    Args:
        heirs: the classes derived from it.
        base: the class.
    """
    init = method_of(base, "__init__")
    if init is None:
        return
    ordered = [*init.args.posonlyargs, *init.args.args]
    defaults = [*zip(ordered[len(ordered) - len(init.args.defaults) :], init.args.defaults)]
    defaults += [(arg, value) for arg, value in zip(init.args.kwonlyargs, init.args.kw_defaults) if value is not None]
    chosen = {arg.arg for arg, value in defaults if not (isinstance(value, ast.Constant) and value.value is None)}
    told: set[str] = set()
    for heir in heirs:
        for node in ast.walk(heir.node):
            match node:
                case ast.Call(func=ast.Attribute(attr="__init__"), args=args, keywords=keywords):
                    told.update(each.arg for each in ordered[1 : len(args) + 1])
                    told.update(each.arg for each in keywords if each.arg is not None)
    for node in ast.walk(init):
        if isinstance(node, ast.Assign) and told & chosen & {
            n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)
        }:
            yield from (each.attr for each in node.targets if isinstance(each, ast.Attribute))


def is_announced_here(method: ast.FunctionDef) -> bool:
    """Whether a method leaves what it does to subclasses.

    Args:
        method: the method.
    """
    body = [each for each in method.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))]
    return not body or len(body) == 1 and isinstance(body[0], (ast.Raise, ast.Pass))


def is_false(node: ast.AST, attribute: str) -> bool:
    """Whether a class says in its body that an attribute is False.

    Args:
        node: the class.
        attribute: the name of the attribute.
    """
    for each in node.body if isinstance(node, ast.ClassDef) else []:
        named = (
            each.targets if isinstance(each, ast.Assign) else [each.target] if isinstance(each, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == attribute for target in named):
            value = each.value if isinstance(each, (ast.Assign, ast.AnnAssign)) else None
            return isinstance(value, ast.Constant) and value.value is False
    return False
