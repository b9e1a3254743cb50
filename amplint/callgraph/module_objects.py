"""Modules as objects, which code asks for what they define by its name: `getattr(models, name)`, `models.__dict__[name]`."""

from __future__ import annotations

import ast
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


def offered(definitions: Definitions, path: Path) -> list[Definition]:
    """The functions and classes of the project that a file offers as a module: its own ones, and those that it imports.

    Args:
        definitions: those of the project.
        path: the file.
    """
    found: dict[Definition, None] = {}
    files = [path]
    for each in files:  # it grows
        found.update(dict.fromkeys(definitions.named_in(each, "")))
        for source, name in definitions.sources(each, "*"):
            taken = definitions.find(source, name)
            if taken is not None:
                found[taken] = None
            elif name == "*" and source not in files:
                files.append(source)
    return [*found]
