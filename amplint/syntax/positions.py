"""Where nodes stand: most as Python's own tree says, the rest as LibCST finds when it reads the statement around them.

Arguments, parameters and what else has no place in Python's tree, or begins elsewhere in it, is asked about so seldom that one
statement is parsed at a time: of one that holds blocks, its head.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from amplint.source import Source
from amplint.syntax.nodes import children, within
from amplint.syntax.parenthesized_choices import may_touch_keywords

_COMPOUND = frozenset({cst.FunctionDef, cst.ClassDef, cst.With, cst.For, cst.While, cst.If})
_UNITS = _COMPOUND | {cst.SimpleStatementLine}
_BEYOND = frozenset({cst.IndentedBlock, cst.Else, cst.Finally, cst.ExceptHandler, cst.MatchCase, cst.Module})
"""What no statement that is read alone lies around, but blocks of one."""
_APART = frozenset({cst.IndentedBlock, cst.Else, cst.Finally})
_ELSEWHERE = frozenset({cst.Tuple, cst.GeneratorExp})
"""What Python takes together with its parentheses."""
FORM_FEEDS = re.compile(r"(?:(?<=[\r\n])|\A)\f+")


class Positions:
    """The places of the nodes of one module.

    Args:
        source: the whole file.
        module: the tree.
        python: what Python's own tree has for a node, by its identity.
        parsed: gives the text of the rows that the tree was made from.
        row: gives the row of the file for a line of that text.
        parent: gives the node above a node.
    """

    def __init__(
        self,
        source: Source,
        module: cst.Module,
        python: Mapping[int, Any],
        parsed: str,
        row: Callable[[int], int],
        parent: Callable[[cst.CSTNode], cst.CSTNode | None],
    ) -> None:
        self._source, self._module, self._python = source, module, python
        self._parsed, self._row, self._parent = parsed, row, parent
        self._read: dict[int, tuple[int, int]] = {}
        self._written: dict[int, cst.CSTNode] = {}
        self._units: set[int] = set()

    def of(self, node: cst.CSTNode) -> tuple[int, int]:
        """Start and end offset of a node in the file, without its own parentheses and leading comments."""
        first, last = (node.body[0], node.body[-1]) if type(node) is cst.SimpleStatementLine else (node, node)
        begins, ends = self._python.get(id(first)), self._python.get(id(last))
        if begins is not None and ends is not None and type(node) not in _ELSEWHERE:
            end = self._source.offset_of_bytes(ends.end_lineno, ends.end_col_offset)
            return self._source.offset_of_bytes(begins.lineno, begins.col_offset), end
        entered = self._of_bare_item(node) if type(node) is cst.WithItem else None
        if entered is not None:
            return entered
        self._look_at(node)
        return self._read[id(node)]

    def _of_bare_item(self, item: cst.WithItem) -> tuple[int, int] | None:
        """The place of what a `with` statement enters; None where parentheses may be around it, or around its name."""
        named = item.asname.name if item.asname is not None else item.item
        start, end, text = self.of(item.item)[0], self.of(named)[1], self._source.text
        before, behind = text[max(0, start - 8) : start].rstrip(" "), text[end : end + 8].lstrip(" ")
        return (start, end) if before.endswith(("with", ",")) and behind.startswith((":", ",")) else None

    def as_written(self, node: cst.CSTNode) -> cst.CSTNode:
        """A node as LibCST reads it, with its layout."""
        self._look_at(node)
        return self._written[id(node)]

    def _look_at(self, node: cst.CSTNode) -> None:
        if id(node) in self._read:
            return
        unit = self._unit(node)
        try:
            if unit is None or not self._read_unit(unit):
                self._read_all()
        except cst.CSTValidationError:
            with may_touch_keywords():
                self._read_all()

    def _unit(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The statement that is read for the place of a node; None where that is not to be had alone."""
        below: cst.CSTNode | None = None
        current: cst.CSTNode | None = node
        while current is not None and type(current) not in _BEYOND:
            is_branch = type(current) is cst.If and type(below) is cst.If
            if type(current) in _UNITS and type(below) not in _APART and not is_branch:
                return current if id(current) not in self._units else None
            current, below = self._parent(current), current
        return None

    def _read_unit(self, unit: cst.CSTNode) -> bool:
        """Take down the places in one statement; False where LibCST reads something else in it."""
        self._units.add(id(unit))
        known = self._python.get(id(unit.body[0] if isinstance(unit, cst.SimpleStatementLine) else unit))
        if known is None:
            return False
        text, first = self._text(unit, known)
        is_below = text[:1] in " \t"
        try:
            module = cst.parse_module(f"if 1:\n{text}" if is_below else text)
        except cst.ParserSyntaxError:
            return False
        made: Any = module.body[0]
        return self._pair(module, _head(unit), _head(made.body.body[0] if is_below else made), first - 1 - is_below)

    def _text(self, unit: cst.CSTNode, known: Any) -> tuple[str, int]:
        """The rows of a statement without its blocks, and the number of the first."""
        starts, text = self._source.line_starts, self._source.text
        first = _first_row(known)
        if isinstance(unit, cst.SimpleStatementLine):
            return self._rows(first, self._python[id(unit.body[-1])].end_lineno), first
        below = known.body[0]
        row, begin = _first_row(below), starts[_first_row(below) - 1]
        if isinstance(unit.body, cst.SimpleStatementSuite):  # type: ignore[attr-defined]
            found = self._rows(first, known.body[-1].end_lineno)
        else:
            indent = re.match(r"[ \t\f]*", text[begin:])
            found = f"{self._rows(first, row - 1)}{indent[0] if indent else ''}pass\n"
        column = known.col_offset
        return (f"{found[:column]}if  {found[column + 4 :]}" if found[column:].startswith("elif") else found), first

    def _rows(self, first: int, last: int) -> str:
        starts, text = self._source.line_starts, self._source.text
        end = starts[last] if last < len(starts) else len(text)
        return FORM_FEEDS.sub("", text[starts[first - 1] : end])

    def _read_all(self) -> None:
        module = cst.parse_module(self._parsed)
        if not self._pair(module, within(self._module), within(module), 0, self._row):
            raise AssertionError("LibCST reads another tree")

    def _pair(
        self,
        module: cst.Module,
        nodes: Iterator[cst.CSTNode],
        others: Iterator[cst.CSTNode],
        shift: int,
        row: Callable[[int], int] = int,
    ) -> bool:
        places: Mapping[cst.CSTNode, CodeRange] = MetadataWrapper(module, unsafe_skip_copy=True).resolve(
            PositionProvider
        )
        for node, other in zip(nodes, others):
            if type(node) is not type(other):
                return False
            place, self._written[id(node)] = places[other], other
            start, end = row(place.start.line) + shift, row(place.end.line) + shift
            self._read[id(node)] = self._offset(start, place.start.column), self._offset(end, place.end.column)
        return True

    def _offset(self, row: int, column: int) -> int:
        if row > len(self._source.line_starts):
            return len(self._source.text)  # LibCST ends a last row that the text does not
        start = self._source.offset(row, 0)
        while self._source.text[start : start + 1] == "\f":
            start += 1
        return start + column


def _first_row(known: Any) -> int:
    """The row in which a statement begins, its decorators included."""
    rows: list[int] = [known.lineno, *(each.lineno for each in getattr(known, "decorator_list", ()))]
    return min(rows)


def _head(unit: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A statement and all in it but its blocks."""
    yield unit
    for child in children(unit):
        if type(child) not in _APART and not (type(unit) is type(child) is cst.If):
            yield from within(child)
