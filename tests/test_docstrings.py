"""Docstrings of what one module offers to another say what its arguments mean and what it raises."""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from checkout import ROOT

MODULES = {path: ast.parse(path.read_bytes()) for path in sorted((ROOT / "amplint").rglob("*.py"))}
TOLD_ELSEWHERE = {"CommandGroup.main": "click", "rule": "amplint.rule.Rule"}
"""Functions whose arguments stand where the second name leads."""
FEW = 2
"""From so many arguments on a function describes them: what the only one is, the first line and its type say."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Public(NamedTuple):
    """A function or a method that another module may call, and its docstring; that of a class for what makes one."""

    path: Path
    name: str
    node: Definition
    doc: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}: {self.name}"


def public(path: Path) -> Iterator[Public]:
    """The functions of a module, and the methods of its classes, that are for others."""
    for node in MODULES[path].body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield Public(path, node.name, node, ast.get_docstring(node) or "")
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for method in (each for each in node.body if isinstance(each, Definition)):
                makes = method.name == "__init__"
                if makes or not method.name.startswith("_"):
                    doc = ast.get_docstring(node if makes else method) or ""
                    yield Public(path, node.name if makes else f"{node.name}.{method.name}", method, doc)


def used() -> dict[str, set[Path]]:
    """The modules that speak of a name which they do not define."""
    found: dict[str, set[Path]] = {}
    rules = {path: ast.parse(path.read_bytes()) for path in (ROOT / "rules").rglob("*.py")}
    for path, tree in (MODULES | rules).items():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
            for name in [node.attr] if isinstance(node, ast.Attribute) else names:
                found.setdefault(name, set()).add(path)
    return found


def arguments(node: Definition) -> list[str]:
    """The names of the arguments, as a docstring writes them."""
    args = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    args = args[1:] if args[:1] in (["self"], ["cls"]) else args
    several = [f"*{node.args.vararg.arg}"] if node.args.vararg else []
    rest = [f"**{node.args.kwarg.arg}"] if node.args.kwarg else []
    return [*args, *several, *(each.arg for each in node.args.kwonlyargs), *rest]


def section(doc: str, title: str) -> list[str]:
    """The entries of a section of a docstring."""
    text = re.search(rf"^{title}:\n((?: .*\n?|\n(?= ))+)", doc, re.MULTILINE)
    return re.findall(r"^    ([\w.*]+): ", text[1], re.MULTILINE) if text else []


def is_told_elsewhere(one: Public) -> bool:
    """Whether a docstring is the help of a command, an inherited one, or stands where the interface does."""
    by_click = any("click" in ast.unparse(each) for each in one.node.decorator_list)
    inherited = not one.doc and "." in one.name
    return by_click or inherited or one.doc.startswith("See ") or one.name in TOLD_ELSEWHERE


def shared(path: Path) -> set[str]:
    """The arguments that all functions of a folder have in common, and that its own docstring describes."""
    folder = MODULES.get(path.parent / "__init__.py")
    return set(section(ast.get_docstring(folder) or "", "Args")) if folder is not None else set()


def test_arguments_are_described() -> None:
    elsewhere = used()
    missing = [
        str(one)
        for path in MODULES
        for one in public(path)
        if len(arguments(one.node)) >= FEW and elsewhere.get(one.name.rpartition(".")[2], set()) - {path}
        if not {*section(one.doc, "Args"), *shared(path)} >= {*arguments(one.node)} and not is_told_elsewhere(one)
    ]
    assert missing == []


def test_descriptions_name_the_arguments_in_their_order() -> None:
    all_ = [one for path in MODULES for one in public(path)]
    assert [str(one) for one in all_ if section(one.doc, "Args") not in ([], arguments(one.node))] == []


def raised(body: list[ast.stmt]) -> Iterator[ast.Raise]:
    """The `raise` statements with an exception of their own that nothing around them handles."""
    for node in body:
        if isinstance(node, ast.Raise) and node.exc is not None:
            yield node
        elif isinstance(node, ast.Try) and node.handlers:
            yield from raised(
                [*(below for each in node.handlers for below in each.body), *node.orelse, *node.finalbody]
            )
        elif not isinstance(node, Definition | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                yield from raised(getattr(node, name, []))


def test_exceptions_are_described() -> None:
    silent = [
        str(one)
        for path in MODULES
        for one in public(path)
        if any(raised(one.node.body)) and not section(one.doc, "Raises") and not is_told_elsewhere(one)
    ]
    assert silent == []


def test_described_exceptions_are_there() -> None:
    classes = {node.name for tree in MODULES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    known = classes | set(dir(builtins))
    told = {(str(one), name) for path in MODULES for one in public(path) for name in section(one.doc, "Raises")}
    assert [each for each in told if "." not in each[1] and each[1] not in known] == []


SHOWING = [path for path in MODULES if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", SHOWING, ids=lambda path: path.stem)
def test_examples_give_what_they_show(path: Path) -> None:
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    result = doctest.testmod(module)
    assert result.attempted and not result.failed
