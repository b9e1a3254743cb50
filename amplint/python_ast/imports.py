"""The imports of a file, as Python's parser tells them: what is imported, and in which rows."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def names_imported_by(module: ast.Module, name: str) -> Iterator[str]:
    """The dotted names that a module imports, wherever it does; what comes from a package may be a module of it.

    Args:
        module: what imports.
        name: its own dotted name, from which relative imports start.
    """
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = name.split(".")[: -node.level] if node.level else []
            package = [*above, *filter(None, [node.module])]
            yield ".".join(package)
            yield from (".".join([*package, alias.name]) for alias in node.names)


def import_rows(module: ast.Module) -> list[int]:
    """The rows of the imports of a package that does nothing itself, but may hand on what others do."""
    imports = (node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom))
    return sorted({row for node in imports for row in range(node.lineno, (node.end_lineno or node.lineno) + 1)})
