"""Where nodes stand, worked out for the statements that are asked about and no others.

LibCST's nodes do not know their places: they follow from generating the code again. Its own provider does so for a whole file,
which takes longer than parsing it. Here Python's parser says in which line each statement begins, and only the statement
around a node is generated: of one that holds blocks, its header.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider
from libcst.metadata.position_provider import PositionProvidingCodegenState

from amplint.python_ast import gate

Parent = Callable[[cst.CSTNode], cst.CSTNode | None]
_Pairs = dict[int, int]
_COMPOUND = (cst.FunctionDef, cst.ClassDef, cst.With, cst.For, cst.While, cst.If)
_UNITS = frozenset({cst.SimpleStatementLine, *_COMPOUND})
_BEYOND = frozenset(
    {cst.IndentedBlock, cst.SimpleStatementSuite, cst.Else, cst.Finally, cst.ExceptHandler, cst.MatchCase}
)
"""What no statement with a place of its own lies around, but blocks of one."""
_BODY = cst.IndentedBlock(body=[])


class Span(NamedTuple):
    """Where a node starts and ends: lines from 1, columns in characters from 0."""

    line: int
    column: int
    end_line: int
    end_column: int

    def moved(self, line: int, columns: int) -> Span:
        """The place where what stands in one line stands so many columns further right.

        Args:
            line: the line, 1-based.
            columns: how many characters were put in front of it.
        """
        column = self.column + columns * (self.line == line)
        return self._replace(column=column, end_column=self.end_column + columns * (self.end_line == line))


class _Recorded:
    """What LibCST's generator of code asks of a provider of positions."""

    def __init__(self) -> None:
        self._computed: dict[cst.CSTNode, CodeRange] = {}

    def place(self, node: cst.CSTNode) -> CodeRange:
        """The place of a node that was generated."""
        return self._computed[node]

    def stand_in(self, made: cst.CSTNode, node: cst.CSTNode) -> None:
        """Give a node the place of one that was made in its stead."""
        self._computed[node] = self._computed[made]


class Positions:
    """The places of the nodes of one module.

    Args:
        module: the tree.
        python: gives the whole file as Python's own tree.
        rows: the rows of the file that the module was parsed from, ascending; None for all of them.
        parent: gives the node above a node.
    """

    def __init__(
        self, module: cst.Module, python: Callable[[], ast.Module], rows: Sequence[int] | None, parent: Parent
    ) -> None:
        self._module = module
        self._parent = parent
        self._lines = _Lines(module, python, rows)
        self._units: dict[int, tuple[_Recorded, int]] = {}
        self._whole: dict[cst.CSTNode, CodeRange] | None = None

    def of(self, node: cst.CSTNode) -> Span:
        """The place of a node, without its own parentheses and leading comments."""
        unit, below = node, None
        while type(unit) not in _UNITS or _opens_block(unit, below):
            above = self._parent(unit)
            if above is None or type(unit) in _BEYOND:
                return self._from_whole(node)
            unit, below = above, unit
        line = self._lines.of(unit)
        last = _last_statement(unit) if unit is node else unit
        if line is None or last is None:
            return self._from_whole(node)
        recorded, shift = self._generated(unit, line)
        place = _shifted(recorded.place(node), shift)
        # Alone, an `elif` is generated as an `if`.
        if node is not unit and isinstance(unit, cst.If) and isinstance(self._parent(unit), cst.If):
            place = place.moved(line, len("el"))
        if last is unit:
            return place
        end = self.of(last)
        return place._replace(end_line=end.end_line, end_column=end.end_column)

    def _generated(self, unit: cst.CSTNode, line: int) -> tuple[_Recorded, int]:
        """The places inside a statement as if it began a file, and how many lines below that it stands."""
        if id(unit) not in self._units:
            header = _without_blocks(unit)
            recorded = _Recorded()
            layout = self._module.default_indent, self._module.default_newline
            state = PositionProvidingCodegenState(*layout, recorded, self._indents(unit))  # type: ignore[arg-type]
            header._codegen(state)
            recorded.stand_in(header, unit)
            self._units[id(unit)] = recorded, line - recorded.place(header).start.line
        return self._units[id(unit)]

    def _indents(self, unit: cst.CSTNode) -> list[str]:
        found: list[str] = []
        above = self._parent(unit)
        while above is not None:
            if isinstance(above, cst.IndentedBlock | cst.Match):
                found.append(self._module.default_indent if above.indent is None else above.indent)
            above = self._parent(above)
        return found[::-1]

    def _from_whole(self, node: cst.CSTNode) -> Span:
        if self._whole is None:
            self._whole = dict(MetadataWrapper(self._module, unsafe_skip_copy=True).resolve(PositionProvider))
        return _shifted(self._whole[node], 0)


def _shifted(place: CodeRange, lines: int) -> Span:
    return Span(place.start.line + lines, place.start.column, place.end.line + lines, place.end.column)


def _opens_block(unit: cst.CSTNode, below: cst.CSTNode | None) -> bool:
    """Whether a child of a statement is a block of it, or what follows a block."""
    return (
        isinstance(below, cst.BaseSuite | cst.Else | cst.Finally)
        or isinstance(unit, cst.If)
        and isinstance(below, cst.If)
    )


def _last_statement(unit: cst.CSTNode) -> cst.CSTNode | None:
    """The last statement inside a statement, itself where it holds no block; None where that is no statement of its own."""
    if not isinstance(unit, _COMPOUND):
        return unit
    after = getattr(unit, "orelse", None)
    block = unit.body if after is None else after.body if isinstance(after, cst.Else) else after
    if isinstance(block, cst.If):
        return block
    return block.body[-1] if isinstance(block, cst.IndentedBlock) and block.body else None


def _without_blocks(unit: cst.CSTNode) -> cst.CSTNode:
    if isinstance(unit, cst.For | cst.While | cst.If):
        return unit.with_changes(body=_BODY, orelse=None)
    return unit.with_changes(body=_BODY) if isinstance(unit, _COMPOUND) else unit


class _Lines:
    """The lines in which statements begin, as Python's parser says."""

    def __init__(self, module: cst.Module, python: Callable[[], ast.Module], rows: Sequence[int] | None) -> None:
        self._line: dict[int, int] = {}
        self._parsed = None if rows is None else {row: line for line, row in enumerate(rows, 1)}
        """The line of the module in which a row of the file is."""
        try:
            self._pair(module.body, python().body)
        except (SyntaxError, gate.TooDeep, IndexError, AttributeError):
            self._line.clear()  # what Python reads otherwise than LibCST is not worth guessing

    def of(self, unit: cst.CSTNode) -> int | None:
        """The line of a statement's first word after its decorators; None where it is not known."""
        return self._line.get(id(unit))

    def _pair(self, nodes: Sequence[cst.CSTNode], known: Sequence[ast.stmt]) -> None:
        waiting = [(nodes, known)]
        while waiting:
            nodes, known = waiting.pop()
            if self._parsed is not None:
                known = [each for each in known if each.lineno in self._parsed]
            index = 0
            for node in nodes:
                row = known[index].lineno
                self._line[id(node)] = row if self._parsed is None else self._parsed[row]
                if isinstance(node, cst.SimpleStatementLine):
                    index += len(node.body)
                    continue
                waiting.extend(_blocks(node, known[index]))
                index += 1
            if index != len(known):
                raise IndexError


def _blocks(node: cst.CSTNode, known: ast.stmt) -> list[tuple[Sequence[cst.CSTNode], Sequence[ast.stmt]]]:
    """The blocks of a statement, each with what Python's parser knows of it."""
    pairs: list[tuple[cst.CSTNode | None, Sequence[ast.stmt]]] = []
    match node:
        case cst.FunctionDef() | cst.ClassDef() | cst.With():
            pairs = [(node.body, known.body)]  # type: ignore[attr-defined]
        case cst.For() | cst.While() | cst.If():
            pairs = [(node.body, known.body), (node.orelse, known.orelse)]  # type: ignore[attr-defined]
        case cst.Try() | cst.TryStar():
            pairs = [(node.body, known.body), (node.orelse, known.orelse), (node.finalbody, known.finalbody)]  # type: ignore[attr-defined]
            pairs += [(one.body, other.body) for one, other in zip(node.handlers, known.handlers)]  # type: ignore[attr-defined]
        case cst.Match():
            pairs = [(one.body, other.body) for one, other in zip(node.cases, known.cases)]  # type: ignore[attr-defined]
    found: list[tuple[Sequence[cst.CSTNode], Sequence[ast.stmt]]] = []
    for block, statements in pairs:
        if isinstance(block, cst.Else | cst.Finally):
            block = block.body
        if isinstance(block, cst.If):
            found.append(([block], statements))
        elif isinstance(block, cst.IndentedBlock):
            found.append((block.body, statements))
    return found
