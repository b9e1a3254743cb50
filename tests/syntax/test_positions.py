"""Nodes made from Python's own tree are those that LibCST reads, and stand where LibCST says."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from checkout import ROOT
from libcst.metadata import MetadataWrapper, PositionProvider
from project import codes, project

from amplint.source import Source
from amplint.syntax.nodes import within
from amplint.syntax.tree import Tree

FILES = [*sorted((ROOT / "fixtures").glob("amp1*/*.py"))[::60], *sorted((ROOT / "rules").glob("amp2*.py"))]
ODD = """\
@decorated(
    1,
)
class A(B): x = 1; y = (
    2)
if a: b(c for c in a); b((c for c in a), a)
elif (c or
      d):
    '''text
of rows'''; é = f(ü, x); z = 1
else:
    async def f():
        async with a as b, (
            c
        ): pass
        while (x
               ): y
        else: z
try:
\tx = [
\t1]
except* E:
\tmatch x:
\t  case {"a": [1, *_]} if y: z
\t  case _:
\t    w = x
finally: x; y
"""


def assert_same(source: Source) -> None:
    tree, module = Tree(source), cst.parse_module(source.text)
    known = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    pairs = list(zip(within(tree.module), within(module), strict=True))
    for node, other in pairs[:0:-1]:
        assert type(node) is type(other)
        start, end = known[other].start, known[other].end
        found = source.position(tree.span(node)[0]), source.position(tree.span(node)[1])
        assert [(each.row, each.column - 1) for each in found] == [(each.line, each.column) for each in (start, end)]
        assert getattr(node, "star", None) == getattr(other, "star", None)
        assert type(tree.as_written(node)) is type(node)
        if isinstance(node, (cst.Name, cst.BaseNumber, cst.SimpleString)):
            assert getattr(node, "value", None) == getattr(other, "value", None)
    assert tree.module.visit(cst.CSTTransformer()).deep_equals(tree.module), "LibCST's constructors refuse none of it"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files(path: Path) -> None:
    assert_same(Source.from_bytes(str(path), path.read_bytes()))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_odd_layouts(newline: str) -> None:
    assert_same(Source("odd.py", ODD.replace("\n", newline)))


@pytest.mark.parametrize("around", ["{}", "x, {} ,(\n y)", "x , {} , y", " (x , {} ) "])
@pytest.mark.parametrize(
    "item", ["a", "(a)", "a as b", "(a) as b", "a as (b)", "(a).c() as b", "(a, b) as c", "a  as b.c"]
)
def test_an_item_of_a_with_statement(item: str, around: str) -> None:
    assert_same(Source("file.py", f"with {around.format(item)}:\n  pass\n"))


@pytest.mark.parametrize("text", ["*a = 1\n", "*self.scaler = f()\n", "for *a in b:\n    pass\n"])
def test_a_star_that_only_the_compiler_refuses_is_read(text: str) -> None:
    assert Tree(Source("file.py", text)).module.deep_equals(cst.parse_module(text))


@pytest.mark.parametrize(
    "text",
    [
        "def g():\n    return(f(x) if a else b)\n",
        "z = [(f(x) if a else b)for x in y]\n",
        "while not(f(x) if a else b)or(f(x) if b else a): pass\n",
    ],
)
def test_parentheses_keep_a_conditional_expression_from_a_keyword(text: str) -> None:
    tree = Tree(Source("a.py", text))
    assert {tree.text(arg) for arg in tree.find(cst.Arg)} == {"x"}
    chosen = tree.find(cst.IfExp)[0]
    assert isinstance(chosen, cst.IfExp)
    assert tree.as_written(chosen).deep_equals(cst.parse_expression("(f(x) if a else b)"))


def test_a_rule_says_what_it_finds_beside_such_parentheses(tmp_path: Path) -> None:
    body = "    return(torch.cuda.amp.GradScaler(init_scale=2.0**10) if on else None)\n"
    root = project(tmp_path, make=f"import torch\n\ndef make(on):\n{body}")
    assert codes(root, "make.py") == ["AMP209"]
