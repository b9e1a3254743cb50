"""Names: each means one thing in the whole project, and is found by who searches for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from checkout import ROOT

MODULES = sorted(path for folder in ("amplint", "rules") for path in (ROOT / folder).rglob("*.py"))
Definition = ast.ClassDef | ast.FunctionDef


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a module."""
    return ast.parse(path.read_bytes())


def homes(kind: type[Definition]) -> Mapping[str, set[str]]:
    """The modules that define each public class, or function, at their top."""
    found: dict[str, set[str]] = {}
    for path in MODULES:
        for node in parsed(path).body:
            if isinstance(node, kind) and not node.name.startswith("_"):
                found.setdefault(node.name, set()).add(str(path.relative_to(ROOT)))
    return found


def imported() -> set[str]:
    """What some module imports by its bare name: that alone must tell what it is."""
    nodes = (node for path in MODULES for node in ast.walk(parsed(path)))
    return {each.name for node in nodes if isinstance(node, ast.ImportFrom) for each in node.names if not each.asname}


def built_names(module: ast.Module) -> Iterator[int]:
    """The lines of `getattr` with a name that is put together, there or where a variable is assigned."""
    built = (ast.JoinedStr, ast.BinOp)
    assigns = [node for node in ast.walk(module) if isinstance(node, ast.Assign) and isinstance(node.value, built)]
    variables = {target.id for node in assigns for target in node.targets if isinstance(target, ast.Name)}
    for call in ast.walk(module):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "getattr":
            inside = list(ast.walk(call.args[1]))
            if any(isinstance(node, built) or (isinstance(node, ast.Name) and node.id in variables) for node in inside):
                yield call.lineno


def test_each_class_has_a_name_of_its_own() -> None:
    shared = {name: sorted(where) for name, where in homes(ast.ClassDef).items() if len(where) > 1}
    assert not shared


def test_each_imported_function_has_a_name_of_its_own() -> None:
    """Others are called through their module, which is part of their name: `concise.render`, `github.render`."""
    bare = imported()
    shared = {name: sorted(where) for name, where in homes(ast.FunctionDef).items() if len(where) > 1 and name in bare}
    assert not shared


def test_no_method_is_found_by_a_string_that_is_put_together() -> None:
    assert not [f"{path.relative_to(ROOT)}:{line}" for path in MODULES for line in built_names(parsed(path))]


def test_a_string_that_is_put_together_is_seen() -> None:
    made = [
        "getattr(self, f'_on_{kind}')(event)",
        "name = 'on_' + kind\ngetattr(self, name)",
        "getattr(self, 'on_step')",
    ]
    assert [list(built_names(ast.parse(code))) for code in made] == [[1], [2], []]
