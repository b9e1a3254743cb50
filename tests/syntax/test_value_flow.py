"""Where values go, and where they come from, in small files."""

from __future__ import annotations

import libcst as cst
import pytest

from amplint.file import File
from amplint.source import Source
from amplint.syntax.access_paths import called_name, elements, literal_key
from amplint.syntax.bindings import targets
from amplint.syntax.tree import Tree
from amplint.syntax.value_uses import How

CODE = """
class Run:
    def __init__(self, x):
        self.x = x
        self.x = first(x)

    @property
    def half(self):
        return self.x / 2

def keep(x, out, flag):
    y = [x.norm(), 1] if flag else None
    out["norm"] = y
    out.last = y
    y *= 2
    log(norm=y)
    if y > 3:
        print(f"{y}", out["norm"], other.half)
    a, b = y
    (z := y)
    return y

def caller(run):
    kept = keep(run.x, {}, flag=True)
    kept = other(kept)
    use(kept)
"""


@pytest.fixture
def file() -> File:
    return File(Tree(Source("code.py", CODE)), (2, 4))


def _named(file: File, name: str, inside: str) -> list[cst.BaseExpression]:
    home = next(each for each in file.tree.find(cst.FunctionDef) if each.name.value == inside)
    return file.flow.reads(name, home.body)


def test_each_use_of_a_variable(file: File) -> None:
    uses = [file.flow.use(each) for each in _named(file, "y", "keep")]
    assert [(use.how, use.name) for use in uses] == [
        (How.ASSIGNED, ""), (How.ASSIGNED, ""), (How.ARGUMENT, "log"), (How.COMPARED, ""), (How.SHOWN, ""),
        (How.ASSIGNED, ""), (How.ASSIGNED, ""), (How.RETURNED, ""),
    ]  # fmt: skip
    given = uses[2].arg
    assert given is not None and given.keyword is not None and given.keyword.value == "norm"


def test_the_way_of_a_value_up_to_its_statement(file: File) -> None:
    (x,) = _named(file, "x", "keep")
    uses = list(file.flow.uses(x))
    assert [use.how for use in uses] == [How.METHOD, How.PART, How.PART, How.PART, How.ASSIGNED]
    assert [file.tree.text(each) for each in targets(uses[-1].node)] == ["y"]


def test_what_a_function_does_to_a_variable(file: File) -> None:
    place = _named(file, "y", "keep")[0]
    assert [file.tree.text(each) for each in file.flow.assigned("y", place)] == ["y = [x.norm(), 1] if flag else None"]
    assert [file.tree.text(each) for each in file.flow.changes("y", place)] == ["y *= 2"]
    ((element, value),) = file.flow.put("out", place)
    assert (literal_key(element), file.tree.text(value)) == ("norm", "y")
    assert [file.tree.text(each) for each in file.flow.assigned("out.last", place)] == ["out.last = y"]


def test_what_a_value_may_come_from(file: File) -> None:
    (use,) = file.flow.calls("use")
    (kept,) = (arg.value for arg in use.args)
    assert isinstance(kept, cst.Name)
    assert [called_name(each) for each in file.flow.values(kept)] == ["keep", "other"]
    assert called_name(file.flow.last_value(kept)) == "other"
    assert file.flow.meant(use) == [use]
    (half,) = (each for each in file.tree.find(cst.Attribute) if each.attr.value == "half")
    assert list(file.flow.sources(half)) == []  # `keep` is no method, so that nobody knows whose `half` this is
    (inner,) = (each for each in file.tree.find(cst.BinaryOperation) if isinstance(each.operator, cst.Divide))
    assert [file.tree.text(each) for each in file.flow.values(inner.left)] == ["x", "first(x)"]
    (call,) = file.flow.calls("keep")
    assert [file.tree.text(each) for each in file.flow.sources(call)] == ["y"]
    assert [file.tree.text(each) for each in file.flow.given(_named(file, "x", "keep")[0])] == ["run.x"]


def test_elements_of_a_dict() -> None:
    display, call = (cst.parse_expression(text) for text in ('{"a": 1, b: 2, **c}', "dict(d=3, **e)"))
    assert [key for key, _ in elements(display)] == ["a", ""]
    assert [key for key, _ in elements(call)] == ["d"]
