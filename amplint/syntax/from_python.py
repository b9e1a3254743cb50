"""LibCST's nodes made from Python's own tree, which is there already: several times faster than to have LibCST parse the text.

What they say is what LibCST's parser says; of layout (white space, commas, parentheses) they have the plainest. Only strings of
several parts are read by LibCST.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import libcst as cst

from amplint.python_ast.walk import FIELDS
from amplint.source import Source
from amplint.syntax.nodes import maker
from amplint.syntax.python_expressions import EXPRESSIONS
from amplint.syntax.python_statements import COMPOUND_STATEMENTS, SMALL_STATEMENTS

_MODULE = maker(cst.Module, "body")
_LINE, _ELSE = maker(cst.SimpleStatementLine, "body"), maker(cst.Else, "body")
_BLOCK, _SUITE = maker(cst.IndentedBlock, "body"), maker(cst.SimpleStatementSuite, "body")
_SIMPLE = maker(cst.SimpleString, "value")
_MAKERS = {**EXPRESSIONS, **SMALL_STATEMENTS, **COMPOUND_STATEMENTS}
_PARTS = frozenset(
    {
        ast.Starred,
        ast.Slice,
        ast.comprehension,
        ast.arguments,
        ast.arg,
        ast.keyword,
        ast.alias,
        ast.withitem,
        ast.ExceptHandler,
    }
)
"""What is made with the node around it."""
_BLOCKS = frozenset({"body", "orelse", "finalbody"})
_STRING = re.compile(
    r"[a-z]{0,2}(?:'(?!'')(?:[^'\\\n]|\\.)*'|\"(?!\"\")(?:[^\"\\\n]|\\.)*\"|'''.*?(?<!\\)(?:\\\\)*'''|\"\"\".*?(?<!\\)(?:\\\\)*\"\"\")",
    re.IGNORECASE | re.DOTALL,
)
_CONTINUED = re.compile(r"[;:][ \t\f]*\\\r?\n")
"""A statement that goes on in the next row behind another one, or behind the head of its block."""


class Unconverted(Exception):
    """A text holds what only LibCST's own parser reads."""


class FromPython:
    """Makes a module of LibCST's nodes.

    Args:
        source: the whole file.
        rows: the rows whose statements count, ascending; None for all of them.
    """

    def __init__(self, source: Source, rows: Sequence[int] | None) -> None:
        self._source = source
        self._rows = None if rows is None else frozenset(rows)
        self._made: dict[ast.AST, Any] = {}

    def module(self, python: ast.Module) -> tuple[cst.Module, dict[int, ast.AST]]:
        """The module, and what Python's tree has for its nodes, by their identity.

        Args:
            python: the whole file as Python's own tree.

        Raises:
            Unconverted: it holds what has no counterpart here.
            libcst.ParserSyntaxError: LibCST cannot read a string.
        """
        if _CONTINUED.search(self._source.text):
            raise Unconverted
        order: list[ast.AST] = []
        waiting: list[ast.AST] = self.kept(python.body).copy()
        while waiting:
            node = waiting.pop()
            order.append(node)
            waiting.extend(self._children(node))
        self._read_strings(order)
        converted = self._made
        for node in reversed(order):  # what stands inside comes first
            kind = type(node)
            if node in converted or kind in _PARTS:
                continue
            make = _MAKERS.get(kind)
            if make is None or getattr(node, "type_params", None):
                raise Unconverted
            try:
                converted[node] = make(self, node)
            except KeyError as missing:  # a star where Python's compiler, not its parser, refuses it
                raise Unconverted from missing
        body = tuple(self._lines(self.kept(python.body)))
        return _MODULE(body), {id(result): node for node, result in converted.items()}

    def _children(self, node: ast.AST) -> list[ast.AST]:
        kind = type(node)
        if kind is ast.JoinedStr:
            return []
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Tuple)
            and not self.has_parentheses(node.slice)
        ):
            return [node.value, *node.slice.elts]
        found: list[ast.AST] = []
        for name in FIELDS.get(kind, ()):
            value = getattr(node, name)
            if type(value) is list:
                found.extend(self.kept(value) if name in _BLOCKS else filter(None, value))
            elif value is not None:
                found.append(value)
        return found

    def kept(self, block: list[Any]) -> list[Any]:
        """The statements of a block that count."""
        rows = self._rows
        return block if rows is None else [each for each in block if each.lineno in rows]

    # -- text ----------------------------------------------------------------------------------------------------------

    def text(self, node: Any) -> str:
        """The text of a node of Python's tree."""
        start = self._source.offset_of_bytes(node.lineno, node.col_offset)
        return self._source.text[start : self._source.offset_of_bytes(node.end_lineno, node.end_col_offset)]

    def _begins(self, node: Any, word: str) -> bool:
        """Whether the text of a node begins with a word."""
        return self._source.text.startswith(word, self._source.offset_of_bytes(node.lineno, node.col_offset))

    def _read_strings(self, order: Iterable[ast.AST]) -> None:
        """Make the nodes of all strings: those that have several parts in one parse."""
        several: list[tuple[ast.AST, str]] = []
        for node in order:
            if type(node) is ast.JoinedStr:
                several.append((node, self.text(node)))
            elif type(node) is ast.Constant and type(node.value) in (str, bytes):
                text = self.text(node)
                if _STRING.fullmatch(text):
                    self._made[node] = _SIMPLE(text)
                else:
                    several.append((node, text))
        if several:
            module = cst.parse_module("".join(f"({text})\n" for _, text in several))
            for (node, _), line in zip(several, module.body):
                self._made[node] = line.body[0].value  # type: ignore[union-attr, index]

    # -- blocks --------------------------------------------------------------------------------------------------------

    def block(self, statements: list[Any]) -> cst.BaseSuite:
        """What stands below a colon: on rows of its own, or behind the colon."""
        kept = self.kept(statements)
        first = kept[0]
        begin = self._source.offset_of_bytes(first.lineno, 0)
        if not self._source.text[begin : self._source.offset_of_bytes(first.lineno, first.col_offset)].strip():
            rows: cst.IndentedBlock = _BLOCK(tuple(self._lines(kept)))
            return rows
        suite: cst.SimpleStatementSuite = _SUITE(tuple(map(self._made.__getitem__, kept)))
        return suite

    def _lines(self, statements: list[Any]) -> Iterator[cst.BaseStatement]:
        """Statements, those of one row in one node."""
        together: list[Any] = []
        end = -1
        for each in statements:
            node, is_small = self._made[each], type(each) in SMALL_STATEMENTS
            if together and (each.lineno != end or not is_small):
                yield _LINE(tuple(together))
                together = []
            if is_small:
                together.append(node)
                end = each.end_lineno
            else:
                yield node
        if together:
            yield _LINE(tuple(together))

    def orelse(self, statements: list[Any]) -> cst.Else | cst.If | None:
        """What follows `else` or `elif`."""
        kept = self.kept(statements)
        if not kept:
            return None
        if len(kept) == 1 and type(kept[0]) is ast.If and self._begins(kept[0], "elif"):
            branch: cst.If = self._made[kept[0]]
            return branch
        found: cst.Else = _ELSE(self.block(statements))
        return found

    def __getitem__(self, node: ast.AST | None) -> Any:
        return None if node is None else self._made[node]

    def has_parentheses(self, node: ast.Tuple) -> bool:
        """Whether a tuple stands in parentheses of its own."""
        text = self.text(node)
        if not (text.startswith("(") and text.endswith(")")):
            return False
        depth = 0
        for index, mark in enumerate(_STRING.sub("", text) if "'" in text or '"' in text else text):
            depth += (mark in "([{") - (mark in ")]}")
            if depth == 0:
                return index == len(text) - 1
        return True
