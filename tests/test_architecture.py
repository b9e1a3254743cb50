"""The page on the architecture tells what is there: folders, imports, files and names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from checkout import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PICTURE = PAGE.partition("```mermaid\n")[2].partition("```")[0]
BOXES = dict(re.findall(r'(\w+)\["([\w/.]+)', PICTURE))
"""The folder or file that each name in the picture stands for."""
AT_THE_ROOT = ("amplint", "rules", "fixtures", "tests", "docs", "scripts", "benchmarks", "editors")
REFERENCES = sorted(set(re.findall(r"`([\w/]+(?:/|\.py|\.md))(?::([\w.]+))?`", PAGE)))

Arrow = tuple[str, str]


def home(path: str) -> Path:
    """Where a path of the page lies."""
    return ROOT / path if path.split("/")[0] in AT_THE_ROOT else ROOT / "amplint" / path


def box_of(module: str) -> str:
    """The box that a module of amplint or of the rules is in: the innermost one."""
    package, *parts = module.split(".")
    if package == "amplint_rules":
        return "rules"
    inside = ["/".join(parts[:length]) + end for length in range(len(parts), 0, -1) for end in ("", ".py")]
    return next((path for path in inside if path in BOXES.values()), "")


def imported(path: Path, module: str) -> Iterator[str]:
    """The modules of amplint, or names in them, that a module imports."""
    package = module.split(".") if path.stem == "__init__" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("amplint"))
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            if base.startswith("amplint"):
                yield from (f"{base}.{alias.name}" for alias in node.names)


def imports() -> set[Arrow]:
    """What imports what, box by box."""
    found: set[Arrow] = set()
    for folder, package in (("amplint", "amplint"), ("rules", "amplint_rules")):
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            module = ".".join([package, *(parts[:-1] if parts[-1] == "__init__" else parts)])
            found |= {(box_of(module), box_of(other)) for other in imported(path, module)}
    return {(one, other) for one, other in found if one and other and one != other}


def below(arrows: set[Arrow], box: str) -> set[str]:
    """All boxes that arrows lead to from one."""
    found: set[str] = set()
    waiting = [box]
    while waiting:
        current = waiting.pop()
        new = {end for start, end in arrows if start == current} - found
        found |= new
        waiting += new
    return found


def test_every_folder_and_every_file_above_them_is_a_box() -> None:
    there = {path.parent.name for path in (ROOT / "amplint").glob("*/__init__.py")} | {"rules"}
    there |= {path.name for path in (ROOT / "amplint").glob("*.py") if path.name != "__init__.py"}
    assert {path for path in BOXES.values() if not path.startswith("model/")} == there
    assert all(home(path).exists() for path in BOXES.values())


def test_arrows_are_the_imports_that_do_not_follow_from_others() -> None:
    arrows: set[Arrow] = set()
    for starts, ends in re.findall(r"^ *(\w+)(?:\[.*?\])? --> (.+)$", PICTURE, re.MULTILINE):
        arrows |= {(BOXES[start], BOXES[end]) for start, end in product([starts], ends.split(" & "))}
    all_ = imports()
    assert not any(box in below(all_, box) for box in BOXES.values()), "folders import each other in a circle"
    assert arrows == {(one, other) for one, other in all_ if other not in below(all_ - {(one, other)}, one)}


def test_every_file_and_every_name_is_there() -> None:
    missing = [path for path, _ in REFERENCES if not home(path).exists()]
    assert not missing
    missing = [f"{path}:{name}" for path, name in REFERENCES if name and name not in defined_in(home(path))]
    assert not missing


def defined_in(path: Path) -> set[str]:
    """The classes and functions of a module."""
    body = ast.parse(path.read_bytes()).body
    return {node.name for node in body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}


def test_each_folder_says_what_happens_there() -> None:
    folders = [*(ROOT / "amplint").rglob("__init__.py"), *(ROOT / "rules").rglob("__init__.py")]
    assert [str(path) for path in folders if not ast.get_docstring(ast.parse(path.read_bytes()))] == []
