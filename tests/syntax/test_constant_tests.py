"""Tests that always come out alike, and what they leave out."""

from __future__ import annotations

import libcst as cst
import pytest
from lowered import file_of

from amplint.syntax.constant_tests import ConstantTests


def constants_of(code: str) -> tuple[ConstantTests, list[cst.If]]:
    """The reader of constant tests of a module, and its `if` statements, in source order."""
    file = file_of(code)
    return file.names.constants, list(file.tree.find(cst.If))


@pytest.mark.parametrize(
    ("test", "truth"),
    [
        ("True", True),
        ("0", False),
        ("not 0", True),
        ("None", False),
        ("loader and False", False),
        ("loader or 1", True),
        ("loader and True", None),
        ("loader", None),
        ("flag", False),
        ("not flag", True),
        ("again", False),
        ("given", None),
        ("changed", None),
        ("SWITCH", None),
    ],
)
def test_constants_decide(test: str, truth: bool | None) -> None:
    known, [asked, *_] = constants_of(f"""
SWITCH = False
def train(loader, given=False):
    flag = False
    again = flag
    changed = False
    if {test}:
        changed = True
""")
    assert known.truth(asked.test) is truth


def test_a_name_that_a_function_shares_is_no_constant() -> None:
    known, [asked] = constants_of("""
flag = False
def switch():
    global flag
    flag = True
switch()
if flag:
    train()
""")
    assert known.truth(asked.test) is None


def test_branches_that_are_never_taken_are_left_out() -> None:
    known, [never, always] = constants_of("""
def train():
    off = False
    if off:
        scale()
    else:
        step()
    if not off:
        stop()
""")
    left_out = {name: known.leave_out(call) for branch in (never, always) for name, call in calls_below(branch)}
    assert left_out == {"scale": True, "step": False, "stop": False}


def calls_below(node: cst.CSTNode) -> list[tuple[str, cst.Call]]:
    """The calls of plain names below a node, each with the name."""
    found: list[tuple[str, cst.Call]] = []
    for child in node.children:
        if isinstance(child, cst.Call) and isinstance(child.func, cst.Name):
            found.append((child.func.value, child))
        found += calls_below(child)
    return found


def test_conditional_expressions_have_the_side_that_is_taken() -> None:
    file = file_of("""
def train(given):
    off = False
    one = scaler() if off else None
    other = scaler() if given else None
""")
    first, second = (file.names.constants.sides(each) for each in file.tree.find(cst.IfExp))
    assert [file.tree.text(each) for each in first] == ["None"]
    assert [file.tree.text(each) for each in second] == ["scaler()", "None"]
