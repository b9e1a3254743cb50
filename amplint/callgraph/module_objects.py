"""Modules as objects, which code asks for what they define by its name: `getattr(models, name)`, `models.__dict__[name]`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import cast

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Definition, Definitions, Scope

_MOST_MODULES = 40
"""A text that may name more modules says nothing."""


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


def named_by_text(definitions: Definitions, path: Path, name: ast.expr) -> list[Path]:
    """The files that an expression may name as modules: those in `models` for `f"pkg.models.{kind}"`; none where they are many.

    Args:
        definitions: those of the project.
        path: the file of the expression.
        name: the expression for the name of the module.
    """
    begun = "".join(cast("Iterator[str]", takewhile(lambda part: part is not None, _parts(name))))
    package = begun.rpartition(".")[0]
    may_be = _pattern(name)
    below = definitions.modules_below(package, path) if package else ()
    found = sorted(each for dotted, each in below if may_be.fullmatch(dotted))
    return found if len(found) <= _MOST_MODULES else []


def called_like_their_module(found: list[Definition], path: Path) -> list[Definition]:
    """The classes that have the name of the module, as far as case and underscores go: `BertNet` of `bert_net`.

    Args:
        found: what the module offers.
        path: its file.
    """
    name = path.stem.replace("_", "").lower()
    return [each for each in found if each.node.name.replace("_", "").lower() == name]


def _parts(name: ast.expr) -> Iterator[str | None]:
    """What a text is put together of; None for what is not known."""
    match name:
        case ast.Constant(value=str(written)):
            yield written
        case ast.JoinedStr(values=parts):
            for each in parts:
                yield from _parts(each)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (*_parts(left), *_parts(right))
        case ast.BinOp(left=ast.Constant(value=str(written)), op=ast.Mod()):
            yield from _between(written.split("%s"))
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(written)), attr="format")):
            yield from _between(re.split(r"\{[^{}]*\}", written))
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(mark)), attr="join"),
            args=[ast.List() | ast.Tuple() as listed],
        ):
            for position, each in enumerate(listed.elts):
                yield from ((mark,) if position else ())
                yield from _parts(each)
        case _:
            yield None


def _between(written: list[str]) -> Iterator[str | None]:
    """Texts, with something that is not known between each two of them."""
    for position, text in enumerate(written):
        if position:
            yield None
        yield text


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
            if there == "*":
                files += [source] if source not in files else []
            elif there not in used and (taken := definitions.find(source, there)) is not None:
                found[taken] = None
    may_be = _pattern(name)
    return [each for each in found if may_be.fullmatch(each.node.name)]


def _pattern(name: ast.expr) -> re.Pattern[str]:
    """What matches the texts that an expression may make: `Good[^.]*` for `f"Good{kind}"`."""
    return re.compile("".join("[^.]*" if part is None else re.escape(part) for part in _parts(name)))
