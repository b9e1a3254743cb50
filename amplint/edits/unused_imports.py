"""Imports that nothing needs any more, but for those that may be there for others."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePath

import libcst as cst

from amplint.diagnostics import Edit
from amplint.edits.import_removal import Import, ImportRemoval
from amplint.model.torch import names as torch_names
from amplint.python_ast.walk import levels
from amplint.source import Source
from amplint.syntax.bindings import SCOPES, dotted, module_of
from amplint.syntax.tree import Tree

_KEPT_BY_COMMENT = re.compile(r"#\s*noqa(?!\s*:)|#\s*noqa\s*:[^#]*\bF401\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_PATH_TO_NAME = re.compile(r"(?!torch\.)(?:\w+\.)+(\w+)")


class Unimporter:
    """Knows which imports of a file nothing needs, and how to remove them.

    Whether a name is used is asked of the whole text: the tree holds the relevant statements only.
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._removal = ImportRemoval(tree)

    @property
    def source(self) -> Source:
        """The whole text."""
        return self._tree.source

    @property
    def module(self) -> ast.Module:
        """The whole file as Python's own tree."""
        return self._tree.python

    @cached_property
    def mentions(self) -> Counter[str]:
        """How often the whole file says each name: as a name, in `__all__`, in a string annotation, in a path to patch."""
        return Counter(_mentions(self.module, "__all__" in self.source.text))

    def imported(self, what: Import) -> str:
        """The qualified name of what an import brings; the module itself for `import module` and for a star."""
        if isinstance(what, cst.ImportFrom):
            return module_of(what)
        statement, name = self._tree.parent(what), dotted(what.name)
        return (
            torch_names.canonical(f"{module_of(statement)}.{name}") if isinstance(statement, cst.ImportFrom) else name
        )

    def local_name(self, alias: cst.ImportAlias) -> str:
        """The name that an import binds."""
        return dotted(alias.asname.name) if alias.asname else dotted(alias.name).partition(".")[0]

    def is_unused(self, what: Import) -> bool:
        """Whether nothing in the file names what an import brings; a star is unused only where its names are known."""
        if isinstance(what, cst.ImportAlias):
            return not self._uses(self.local_name(what))
        names = torch_names.star_names(module_of(what))
        return bool(names) and not any(self.mentions[name] for name in names)

    def is_last_use(self, alias: cst.ImportAlias) -> bool:
        """Whether one expression in the whole file names what an import brings, so that the import can go with it."""
        return self._uses(self.local_name(alias)) == 1

    def _uses(self, name: str) -> int:
        """How often the file may mean an import when it says a name: an attribute that a class defines is none of it."""
        return self.mentions[name] - self._attributes[name]

    @cached_property
    def _attributes(self) -> Counter[str]:
        return Counter(_attributes(self.module))

    def may_remove(self, what: Import) -> bool:
        """Whether an unused import is there for nobody else: no re-export, no `noqa`, no attempt to import."""
        if PurePath(self.source.path).name in ("__init__.py", "__init__.pyi"):
            return False
        if isinstance(what, cst.ImportAlias) and what.asname is not None and self.local_name(what) == dotted(what.name):
            return False
        for above in self._tree.ancestors(what):
            if isinstance(above, SCOPES):
                break
            if isinstance(above, (cst.Try, cst.TryStar)):
                return False
        start, end = self._tree.span(self._removal.line(what))
        rows = range(self.source.position(start).row, self.source.position(end).row + 1)
        return not any(_KEPT_BY_COMMENT.search(self.source.line(row)) for row in rows)

    def remove(self, what: Import) -> tuple[Edit, ...]:
        """The edit that removes an import and keeps every comment; none when it may be there for others, or cannot."""
        return self._removal.edits(what) if self.may_remove(what) else ()


_MENTIONING = frozenset(
    {
        ast.Name, ast.Global, ast.Nonlocal, ast.Constant, ast.arg, ast.FunctionDef, ast.AsyncFunctionDef, ast.Assign,
        ast.AnnAssign, ast.AugAssign, ast.Expr,
    }
)  # fmt: skip
"""What may name an import, or hold a text that does."""


def _mentions(module: ast.Module, says_all: bool) -> Iterator[str]:
    for node in (node for level in levels(module) for node in level if type(node) in _MENTIONING):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            path = _PATH_TO_NAME.fullmatch(node.value)
            if path:
                yield path[1]
        elif isinstance(node, ast.arg) and node.annotation:
            yield from _words(node.annotation)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.returns:
            yield from _words(node.returns)
        if isinstance(node, ast.AnnAssign):
            yield from _words(node.annotation)
        if says_all and isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)) and _is_about_all(node):
            yield from _words(node)


def _attributes(module: ast.Module) -> Iterator[str]:
    """The names that the bodies of classes bind."""
    for defined in (node for level in levels(module) for node in level if isinstance(node, ast.ClassDef)):
        waiting = list[ast.AST](defined.body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
                waiting.extend(ast.iter_child_nodes(node))


def _words(node: ast.AST) -> Iterator[str]:
    for below in ast.walk(node):
        if isinstance(below, ast.Constant) and isinstance(below.value, str):
            yield from _WORD.findall(below.value)


def _is_about_all(node: ast.AST) -> bool:
    return any(isinstance(below, ast.Name) and below.id == "__all__" for below in ast.walk(node))
