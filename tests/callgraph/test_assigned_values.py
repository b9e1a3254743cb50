"""What the code of a file assigns and hands over, which is read once for several checks."""

from __future__ import annotations

from pathlib import Path

from project import project

from amplint.callgraph.assigned_values import AssignedValues
from amplint.callgraph.definitions import Definitions
from amplint.callgraph.import_graph import ImportGraph


def values(root: Path) -> AssignedValues:
    return AssignedValues(Definitions(ImportGraph(root.rglob("*.py"), root)))


def test_a_file_that_did_not_change_is_not_read_again_while_somebody_holds_its_tree(tmp_path: Path) -> None:
    root = project(tmp_path, train="loss = make(1)\n")
    before = values(root)
    calls = before.calls(root / "train.py")
    assert values(root).calls(root / "train.py") is calls
    (root / "train.py").write_text("loss = make(1)\nother = make(2)\n")
    now = values(root)
    assert len(now.calls(root / "train.py")) == 2
    assert [each.value.lineno for each in now.of(root / "train.py", "other")] == [2]
    assert len(calls) == 1
