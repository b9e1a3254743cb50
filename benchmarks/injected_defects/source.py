"""A Python file as its statements, with what a change of one of them needs to know."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Loop = (ast.For, ast.While)


class Source:
    """The text of a file that is indented by spaces, its tree, and the changed texts that lines of it give.

    Raises:
        SyntaxError: it is no Python.
    """

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.lines = text.split("\n")
        self._around = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def statements(self) -> Iterator[tuple[ast.stmt, list[ast.AST]]]:
        """Each statement that has its lines for itself, and the statements that follow it in its block."""
        for node in ast.walk(self.tree):
            for field in ("body", "orelse", "finalbody"):
                found = getattr(node, field, None)
                block: list[ast.AST] = found if isinstance(found, list) else []
                for place, statement in enumerate(block):
                    if isinstance(statement, ast.stmt) and self._alone(statement):
                        yield statement, block[place + 1 :]

    def _alone(self, statement: ast.stmt) -> bool:
        before = self.lines[statement.lineno - 1][: statement.col_offset]
        return not before.strip() and ";" not in self.lines[(statement.end_lineno or statement.lineno) - 1]

    def function(self, node: ast.AST) -> ast.AST:
        """The function around a node, or the module."""
        return next((one for one in self._outwards(node) if isinstance(one, Function)), self.tree)

    def loops(self, node: ast.AST) -> list[ast.For | ast.While]:
        """The loops around a node in its function, from the inside out."""
        found: list[ast.For | ast.While] = []
        for one in self._outwards(node):
            if isinstance(one, Function):
                break
            if isinstance(one, Loop):
                found.append(one)
        return found

    def _outwards(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self._around:
            node = self._around[node]
            yield node

    def with_lines(self, statement: ast.stmt, *lines: str) -> str:
        """The text with other lines in place of a statement, indented like it."""
        indent = " " * statement.col_offset
        first, last = span(statement)
        return "\n".join([*self.lines[:first], *(indent + line for line in lines), *self.lines[last:]])

    def without(self, statement: ast.stmt) -> str:
        """The text without a statement."""
        return self.with_lines(statement, "pass")

    def shifted(self, first: int, last: int, columns: int) -> list[str]:
        """All lines, those in a span moved by some columns to the right, or to the left where that is negative."""
        moved = [_shifted(line, columns) for line in self.lines[first:last]]
        return [*self.lines[:first], *moved, *self.lines[last:]]


def span(statement: ast.stmt) -> tuple[int, int]:
    """The index of the first line of a statement, and that after its last line."""
    return statement.lineno - 1, statement.end_lineno or statement.lineno


def _shifted(line: str, columns: int) -> str:
    if columns >= 0:
        return " " * columns + line if line.strip() else line
    return line[-columns:] if not line[:-columns].strip() else line


def method(node: ast.AST | None) -> str:
    """The name of the method that a node calls; empty where it is no such call."""
    return node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def receiver(node: ast.AST | None) -> str:
    """The text of the object whose method a node calls."""
    return ast.unparse(node.func.value) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""


def calls(root: ast.AST, name: str, on: str = "") -> Iterator[ast.Call]:
    """The calls of a method in a tree, of objects whose text matches a pattern."""
    for node in ast.walk(root):
        if isinstance(node, ast.Call) and method(node) == name and re.search(on, receiver(node), re.IGNORECASE):
            yield node
