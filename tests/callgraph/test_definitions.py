"""What a name stands for, in its file or in the one that it is imported from."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from project import project

from amplint.callgraph.definitions import Definitions
from amplint.callgraph.import_graph import ImportGraph

TRAIN = """
def build(): ...

def fit():
    from helpers import build
    build()

def test():
    build()
"""


@pytest.mark.parametrize(("function", "file"), [("fit", "helpers.py"), ("test", "train.py")])
def test_an_import_of_the_function_goes_before_a_definition_of_the_file(
    tmp_path: Path, function: str, file: str
) -> None:
    root = project(tmp_path, train=TRAIN, helpers="def build(): ...")
    definitions = Definitions(ImportGraph(root.rglob("*.py"), root))
    scope = next(
        node
        for node in definitions.top(root / "train.py")
        if isinstance(node, ast.FunctionDef) and node.name == function
    )
    found = definitions.find(root / "train.py", "build", scope)
    assert found is not None
    assert found.path == root / file
