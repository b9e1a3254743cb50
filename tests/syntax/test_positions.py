"""Places that are worked out statement by statement are those that LibCST works out for the whole file."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkout import ROOT
from libcst.metadata import MetadataWrapper, PositionProvider

from amplint.source import Source
from amplint.syntax.tree import Tree, within

FILES = [*sorted((ROOT / "fixtures").glob("amp1*/*.py"))[::60], *sorted((ROOT / "rules").glob("amp2*.py"))]
ODD = """\
@decorated(
    1,
)
class A(B): x = 1; y = (
    2)
if a: b()
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
    tree = Tree(source)
    known = MetadataWrapper(tree.module, unsafe_skip_copy=True).resolve(PositionProvider)
    for node in within(tree.module):
        place = known[node]
        wanted = (place.start.line, place.start.column, place.end.line, place.end.column)
        assert tuple(tree._positions.of(node)) == wanted, type(node).__name__


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_real_files(path: Path) -> None:
    assert_same(Source.from_bytes(str(path), path.read_bytes()))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_odd_layouts(newline: str) -> None:
    assert_same(Source("odd.py", ODD.replace("\n", newline)))
