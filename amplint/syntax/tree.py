"""A LibCST tree of the statements that matter, indexed once: nodes by type, parents, and places in the whole file.

It is made from Python's own tree, without layout: `as_written` gives a node as it stands in the text. One loop collects
parents and types. The tree holds the kept rows only, and `span` answers in offsets of the whole file.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TypeVar

import libcst as cst

from amplint.diagnostics import Range
from amplint.python_ast import gate
from amplint.source import Source
from amplint.syntax.from_python import FromPython, Unconverted
from amplint.syntax.nodes import children
from amplint.syntax.positions import FORM_FEEDS, Positions
from amplint.system import limits

NodeT = TypeVar("NodeT", bound=cst.CSTNode)
_WORDS: tuple[type[cst.Name] | type[cst.Integer] | type[cst.Float], ...] = (cst.Name, cst.Integer, cst.Float)


def _last(node: cst.CSTNode) -> cst.CSTNode:
    """The last node at or below a node in source order."""
    while below := children(node):
        node = below[-1]
    return node


def _asked_by(node: cst.CSTNode) -> cst.BaseExpression | None:
    """What a branch decides by, which runs whichever side it takes; None for what is no branch."""
    if isinstance(node, cst.Match):
        return node.subject
    return node.test if isinstance(node, (cst.If, cst.IfExp)) else None


class Tree:
    """The statements in some rows of one file.

    Args:
        source: the whole file.
        rows: the 1-based rows that count, ascending; None for all of them.
        python: the whole file as Python's own tree, if that is at hand.

    Raises:
        libcst.ParserSyntaxError: LibCST cannot read the rows, where it has to.
        TextTooLong: LibCST would take too much memory for them.
    """

    def __init__(self, source: Source, rows: Sequence[int] | None = None, python: ast.Module | None = None) -> None:
        self.source = source
        self._rows = rows
        if python is not None:
            self.python = python
        if rows is None:
            text = source.text
        else:
            starts = [*source.line_starts, len(source.text)]
            text = "".join(source.text[starts[row - 1] : starts[row]] for row in rows)
        limits.refuse_long(text, limits.RELEVANT_WORDS)
        # LibCST drops form feeds at the start of some lines, and then counts columns without them: it gets to see none.
        self._text = FORM_FEEDS.sub("", text) if "\f" in text else text
        self.module, self._from_python = self._converted()
        # By identity: LibCST's nodes compare by identity too, but hash in Python, which is slow.
        self._parents: dict[int, cst.CSTNode] = {}
        self._order: dict[int, int] = {}
        self._by_type: defaultdict[type[cst.CSTNode], list[cst.CSTNode]] = defaultdict(list)
        self._grafts: dict[cst.Module, Tree] = {}
        self._abroad: dict[int, cst.Module] = {}
        self._index()

    def _converted(self) -> tuple[cst.Module, dict[int, ast.AST]]:
        """The module, and what Python's own tree has for its nodes, by their identity."""
        try:
            return FromPython(self.source, self._rows).module(self.python)
        except (Unconverted, SyntaxError, gate.TooDeep, cst.ParserSyntaxError):
            return cst.parse_module(self._text), {}

    def _index(self) -> None:
        stack: list[cst.CSTNode] = [self.module]
        order, by_type, parents, pop = self._order, self._by_type, self._parents, stack.pop
        while stack:
            node = pop()
            order[id(node)] = len(order)
            by_type[type(node)].append(node)
            below = children(node)
            if below:
                for child in below:
                    parents[id(child)] = node
                below.reverse()
                stack += below

    def graft(self, other: Tree) -> None:
        """Take in the nodes of another file: from now on they may be asked about here, but `find` does not bring them."""
        if other is not self and other.module not in self._grafts:
            self._grafts[other.module] = other
            self._parents.update(other._parents)
            self._order.update(other._order)
            self._abroad.update(dict.fromkeys(other._order, other.module))

    def home(self, node: cst.CSTNode) -> Tree:
        """The tree of the file that holds `node`: this one, or one that was grafted."""
        module = self.root(node)
        return self if module is self.module else self._grafts[module]

    def root(self, node: cst.CSTNode) -> cst.Module:
        """The module that holds `node`."""
        return self._abroad.get(id(node), self.module)

    def find(self, kind: type[NodeT], around: cst.CSTNode | None = None) -> list[NodeT]:
        """All nodes of exactly one type in one file, in source order.

        Args:
            kind: the type; nodes of types derived from it do not count.
            around: a node of the file that is meant; None for this one.
        """
        tree = self if around is None else self.home(around)
        return tree._by_type.get(kind, [])  # type: ignore[return-value]

    def inside(self, scope: cst.CSTNode, kind: type[NodeT]) -> list[NodeT]:
        """The nodes of exactly one type at or below a node, in source order.

        Args:
            scope: the node, of this tree or of one that was grafted.
            kind: the type; nodes of types derived from it do not count.
        """
        found, orders = self.find(kind, around=scope), self._orders(scope)
        return found[bisect_left(found, orders.start, key=self.order) : bisect_left(found, orders.stop, key=self.order)]

    def words(self, scope: cst.CSTNode) -> frozenset[str]:
        """The identifiers and literals at and below a node: what `amplint.syntax.words.words` finds, from the index."""
        named = (node.value for kind in _WORDS for node in self.inside(scope, kind))
        return frozenset(named).union(node.value.strip("'\"") for node in self.inside(scope, cst.SimpleString))

    def _orders(self, scope: cst.CSTNode) -> range:
        """The numbers of the nodes at and below `scope`."""
        return range(self.order(scope), self.order(_last(scope)) + 1)

    def below(self, scope: cst.CSTNode, nodes: Sequence[cst.CSTNode]) -> Sequence[cst.CSTNode]:
        """Those of several nodes that stand inside one node.

        Args:
            scope: that node, which does not count itself.
            nodes: nodes of the same file, in source order.
        """
        orders = self._orders(scope)[1:]
        return nodes[bisect_left(nodes, orders.start, key=self.order) : bisect_left(nodes, orders.stop, key=self.order)]

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that holds `node`; None for the module."""
        return self._parents.get(id(node))

    def order(self, node: cst.CSTNode) -> int:
        """The number of a node in source order, parents before children; cheaper than `span`."""
        return self._order[id(node)]

    def end_order(self, node: cst.CSTNode) -> tuple[int, int]:
        """A key that sorts nodes by where they end, inner before outer: calls in the order in which they run."""
        return self._order[id(_last(node))], -self._order[id(node)]

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Parent, grandparent, and so on up to the module."""
        current = self._parents.get(id(node))
        while current is not None:
            yield current
            current = self._parents.get(id(current))

    def enclosing(self, node: cst.CSTNode, *kinds: type[cst.CSTNode]) -> cst.CSTNode | None:
        """The nearest ancestor of exactly one of these types.

        Args:
            node: where the search begins; it does not count itself.
            *kinds: the types; nodes of types derived from them do not count.
        """
        above = self._parents.get(id(node))
        while above is not None and type(above) not in kinds:
            above = self._parents.get(id(above))
        return above

    def sides(self, node: cst.CSTNode) -> tuple[tuple[cst.CSTNode, cst.CSTNode], ...]:
        """The branches around a node, each with the side that it stands on; a condition is on no side."""
        inside = (node, *self.ancestors(node))
        around = zip(inside, inside[1:])
        return tuple(
            (above, side) for side, above in around if (asked := _asked_by(above)) is not None and asked is not side
        )

    def exclude_each_other(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether two nodes stand on different sides of one branch.

        Args:
            one: a node.
            other: another node.
        """
        sides = dict(self.sides(one))
        return any(sides.get(branch, side) is not side for branch, side in self.sides(other))

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | cst.Lambda | None:
        """The function or lambda that a node stands in; None at the top of a module."""
        order, (starts, spans) = self._order[id(node)], self.home(node)._functions
        index: int | None = bisect_left(starts, order) - 1
        while index is not None and index >= 0:
            last, function, index = spans[index]
            if order <= last:
                return function
        return None

    @cached_property
    def _functions(self) -> tuple[list[int], list[tuple[int, cst.FunctionDef | cst.Lambda, int | None]]]:
        """The numbers of the functions and lambdas of this file; for each the number of the last node in it, itself, and the
        index of the one around it."""
        found: list[cst.FunctionDef | cst.Lambda] = [*self.find(cst.FunctionDef), *self.find(cst.Lambda)]
        found.sort(key=self.order)
        spans: list[tuple[int, cst.FunctionDef | cst.Lambda, int | None]] = []
        around: list[int] = []
        for index, each in enumerate(found):
            while around and spans[around[-1]][0] < self.order(each):
                around.pop()
            spans.append((self.order(_last(each)), each, around[-1] if around else None))
            around.append(index)
        return [self.order(each) for each in found], spans

    @cached_property
    def python(self) -> ast.Module:
        """The whole file as Python's own tree.

        Raises:
            SyntaxError: what LibCST reads is no Python for the interpreter at hand.
            TooDeep: the nesting exceeds what Python's parser takes.
        """
        return gate.parse(self.source.text)

    @cached_property
    def _positions(self) -> Positions:
        return Positions(self.source, self.module, self._from_python, self._text, self._row, self.parent)

    def left_out(self, node: cst.ClassDef) -> frozenset[str]:
        """The names of the methods of a class of this file whose rows do not count."""
        whole = self._from_python.get(id(node))
        if self._rows is None or not isinstance(whole, ast.ClassDef):
            return frozenset()
        kept = {each.name.value for each in node.body.body if isinstance(each, cst.FunctionDef)}
        return frozenset(each.name for each in whole.body if isinstance(each, ast.FunctionDef)) - kept

    def is_said_in_left_out_rows(self, name: str, scope: cst.CSTNode) -> bool:
        """Whether the rows of a definition or module that do not count say a name.

        Args:
            name: the name, bare.
            scope: the definition or module, of this tree or of one that was grafted.
        """
        home = self.home(scope)
        if home._rows is None:
            return False
        whole, source = home._from_python.get(id(scope)), home.source
        rows = range(getattr(whole, "lineno", 1), getattr(whole, "end_lineno", len(source.line_starts)) + 1)
        said = re.compile(rf"\b{re.escape(name)}\b")
        return any(said.search(source.line(row)) for row in set(rows) - set(home._rows))

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Start and end offset in the whole file, without the node's own parentheses and leading comments."""
        return self.home(node)._positions.of(node)

    def as_written(self, node: NodeT) -> NodeT:
        """A node with the layout that it has in the text: parentheses, commas, comments; in the tree all have the plainest."""
        return self.home(node)._positions.as_written(node)  # type: ignore[return-value]

    def _row(self, line: int) -> int:
        if self._rows is None:
            return line
        return self._rows[line - 1] if line <= len(self._rows) else self._rows[-1] + 1

    def range(self, node: cst.CSTNode) -> Range:
        """Where `node` stands in its file."""
        return self.home(node).source.range(*self.span(node))

    def text(self, node: cst.CSTNode) -> str:
        """The source text of `node`."""
        if isinstance(node, cst.Name):
            return node.value
        start, end = self.span(node)
        return self.home(node).source.text[start:end]
