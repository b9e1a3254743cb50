"""Modules as objects, which code asks for what they define by its name: `getattr(models, name)`, `models.__dict__[name]`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Definition, Definitions, Scope


def module_meant(definitions: Definitions, path: Path, value: ast.expr, scope: Scope) -> Path | None:
    """The file that an expression stands for as a module: one that is imported, or the own one, which says its name.

    Args:
        definitions: those of the project.
        path: the file of the expression.
        value: the expression.
        scope: the function that it stands in.
    """
    match value:
        case ast.Call(func=called, args=[ast.Name(id="__name__")]):
            return path if spelling_of(called).rpartition(".")[2] == "import_module" else None
        case ast.Subscript(value=table, slice=ast.Name(id="__name__")):
            return path if spelling_of(table) == "sys.modules" else None
    return definitions.imported_module(path, spelling_of(value), scope)


def offered(definitions: Definitions, path: Path, name: ast.expr) -> list[Definition]:
    """The functions and classes of the project that a file offers as a module under a name that an expression makes.

    They are its own ones, and those that it imports and makes no use of.

    Args:
        definitions: those of the project.
        path: the file.
        name: the expression for the name.
    """
    found: dict[Definition, None] = {}
    files = [path]
    for each in files:  # it grows
        found.update(dict.fromkeys(definitions.named_in(each, "")))
        used = {node.id for node in ast.walk(definitions.module(each)) if isinstance(node, ast.Name)}
        for source, there in definitions.sources(each, "*"):
            taken = definitions.find(source, there)
            if taken is not None and there not in used:
                found[taken] = None
            elif there == "*" and source not in files:
                files.append(source)
    may_be = re.compile(_pattern(name))
    return [each for each in found if may_be.fullmatch(each.node.name)]


def _pattern(name: ast.expr) -> str:
    """What matches the texts that an expression may make: `Good.*` for `f"Good{kind}"`."""
    match name:
        case ast.Constant(value=str(written)):
            return re.escape(written)
        case ast.JoinedStr(values=parts):
            return "".join(map(_pattern, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _pattern(left) + _pattern(right)
    return ".*"
