"""Which file imports which."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import project

from amplint.callgraph.import_graph import ImportGraph


def imported(root: Path, path: str) -> set[str]:
    graph = ImportGraph(root.rglob("*.py"), root)
    return {each.relative_to(root).as_posix() for each in graph.imported(root / path)}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import losses", {"losses.py"}),
        ("import losses as l, os", {"losses.py"}),
        ("from losses import bce", {"losses.py"}),
        ("def f():\n    from losses import (\n        bce,\n        focal,\n    )", {"losses.py"}),
        ("from net import head", {"net/__init__.py", "net/head.py"}),
        ("import net.head", {"net/__init__.py", "net/head.py"}),
        ("from net.head import Head", {"net/__init__.py", "net/head.py"}),
        ("# import losses", set()),
        ("important = 1", set()),
        ("import numpy", set()),
    ],
)
def test_imports(tmp_path: Path, statement: str, expected: set[str]) -> None:
    root = project(tmp_path, train=statement, losses="", net_init="", net_head="")
    assert imported(root, "train.py") == expected


def test_relative_imports(tmp_path: Path) -> None:
    root = project(
        tmp_path,
        pkg_init="",
        pkg_util="",
        pkg_net_init="",
        pkg_net_head="from ..util import x\nfrom . import neck",
        pkg_net_neck="",
    )
    assert imported(root, "pkg/net/head.py") == {"pkg/util.py", "pkg/net/__init__.py", "pkg/net/neck.py"}


def test_no_file_imports_itself(tmp_path: Path) -> None:
    root = project(tmp_path, train="import utils.model", model_init="", utils_model="from model import Net")
    assert imported(root, "utils/model.py") == {"model/__init__.py"}
    assert imported(root, "train.py") == {"utils/model.py"}


def test_a_family_is_what_some_file_leads_to_together(tmp_path: Path) -> None:
    root = project(
        tmp_path,
        main="import engine\nimport losses",
        engine="",
        losses="import helper",
        helper="",
        other="import thing",
        thing="",
    )
    graph = ImportGraph(root.rglob("*.py"), root)
    assert {each.stem for each in graph.family(root / "engine.py")} == {"main", "engine", "losses", "helper"}
    assert {each.stem for each in graph.family(root / "other.py")} == {"other", "thing"}


def test_files_import_each_other_in_a_circle(tmp_path: Path) -> None:
    root = project(tmp_path, one="import two", two="import one")
    graph = ImportGraph(root.rglob("*.py"), root)
    assert {each.stem for each in graph.family(root / "one.py")} == {"one", "two"}


def test_a_file_that_cannot_be_read_imports_nothing(tmp_path: Path) -> None:
    graph = ImportGraph([tmp_path / "gone.py"], tmp_path)
    assert graph.imported(tmp_path / "gone.py") == frozenset()


def test_a_content_is_kept_until_others_need_its_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amplint.callgraph.import_graph._KEPT", 12)
    root = project(tmp_path, one="import a", two="import b")
    graph = ImportGraph(root.rglob("*.py"), root)
    first = graph.content(root / "one.py")
    assert graph.content(root / "one.py") is first
    assert graph.content(root / "two.py").data.strip() == b"import b"
    again = graph.content(root / "one.py")
    assert again is not first and again.data == first.data
