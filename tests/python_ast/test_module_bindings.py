"""What binds the names of a module, beside what LibCST's tree of the same text says about that."""

from __future__ import annotations

import ast
from pathlib import Path

import libcst as cst
import pytest

from amplint.python_ast.module_bindings import ModuleBindings
from amplint.source import Source
from amplint.syntax.bindings import absolute, collect
from amplint.syntax.tree import Tree

_PACKAGE = Path(__file__).parents[2] / "amplint"
_FILES = sorted([*_PACKAGE.glob("syntax/*.py"), *_PACKAGE.glob("wrappers/*.pyi"), *_PACKAGE.glob("system/*.py")])
_EVERYTHING = """
from . import beside
from . import *
from .below.deep import *
import torch.cuda.amp, numpy as np
from torch.amp import autocast as cast, GradScaler
try:
    from fast import step
except ImportError as problem:
    step = None
if problem:
    import late
    def chosen(value=(default := 1)):
        inner = value
        import hidden
class Trainer(base := object):
    attribute = 1
    def run(self, model):
        global state
        state = model
with open(path) as stream, lock as (one, *others):
    total = [last := each for each in stream]
for row, (column, *rest) in total:
    count += 1
match rest:
    case {"key": found, **more} | [found, *more]:
        pass
    case Trainer(size=found as size):
        pass
noted: int
twice = lambda argument=(given := 2): argument
@(decorator := print)
async def waits(): yield
def counts():
    outer = 1
    def inside():
        nonlocal outer
        outer = 2
"""


def _both(text: str) -> tuple[dict[str, list[str] | None], dict[str, list[str] | None]]:
    """What each name of a module imports, as its names and as its bindings say it; None where other things bind it, too."""
    tree = Tree(Source("pkg/module.py", text), None, ast.parse(text))
    bindings, names = collect(tree, "pkg.module"), ModuleBindings(ast.parse(text), text)
    said = {
        name: [each.qualified for each in bound]
        if all(isinstance(each.node, cst.ImportAlias) for each in bound)
        else None
        for name, bound in bindings.by_scope.get(tree.module, {}).items()
    }
    told = {
        name: [absolute(each.imported, "pkg.module") for each in bound]
        if all(each.imported for each in bound)
        else None
        for name in said
        if (bound := names.of(name))
    }
    said["*"] = [f"{star}.*" for star in bindings.stars]
    told["*"] = [absolute(each.imported, "pkg.module") for each in names.of("*")]
    return told, said


def test_everything_that_binds_a_name_is_told() -> None:
    told, said = _both(_EVERYTHING)
    assert told == said
    assert told["np"] == ["numpy"] and told["step"] is None and "hidden" not in told and told["late"] == ["late"]


@pytest.mark.parametrize("path", _FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_names_of_real_modules_are_told(path: Path) -> None:
    told, said = _both(path.read_text())
    assert told == said


def test_what_only_functions_bind_is_no_name_of_the_module() -> None:
    names = ModuleBindings(ast.parse(_EVERYTHING), _EVERYTHING)
    assert not any(map(names.of, ["hidden", "inner", "attribute", "run", "argument", "value", "self", "inside"]))
