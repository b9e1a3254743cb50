"""Reading conditions: the one path that is followed through a body."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import libcst as cst

from amplint.runtime.numeric.calls import CallTerms
from amplint.runtime.numeric.expression import Literal
from amplint.runtime.numeric.facts import DtypeTrace
from amplint.runtime.numeric.sources import BodyScope
from amplint.runtime.training.run_record import NotReplayable


@dataclass(eq=False)
class Path:
    """Which way conditions go: by their text, and by their number among those of the same text in the file.

    `towards` is what the path must lead through; `is_settled` says that there must be no other conditions than these.
    """

    towards: cst.CSTNode | None = None
    taken: dict[tuple[str, int], int] = field(default_factory=dict)
    is_settled: bool = False


class Choices(CallTerms):
    """Answers conditions: so that the path leads to the finding; else by literals; else past an `if`, into an `if ... else`.

    Args:
        facts: what the dtype flow knows of the file.
        path: what it has to lead to, and which way earlier conditions went.
    """

    def __init__(self, facts: DtypeTrace, path: Path) -> None:
        super().__init__(facts)
        self._path = path
        self._keys: dict[cst.Module, dict[int, tuple[str, int]]] = {}

    def _key(self, node: cst.If | cst.IfExp) -> tuple[str, int]:
        """The text of a condition, and its number among those of the same text in its file, which may be another one."""
        root = self.tree.root(node)
        if root not in self._keys:
            file = "" if root is self.tree.module else self.tree.home(node).source.path.rpartition("/")[2]
            keys, texts = self._keys.setdefault(root, {}), Counter[str]()
            conditions: list[cst.If | cst.IfExp] = [*self.tree.find(cst.If, root), *self.tree.find(cst.IfExp, root)]
            for each in conditions:
                text = f"{file} {type(each).__name__} {self.words(each.test)}"
                keys[id(each)] = text, texts[text]
                texts[text] += 1
        return self._keys[root][id(node)]

    def chosen(self, node: cst.IfExp, scope: BodyScope) -> cst.BaseExpression:
        return (node.body, node.orelse)[self.way(node, scope)]

    def way(self, node: cst.If | cst.IfExp, scope: BodyScope) -> int:
        """Which way a condition goes: 0 for the body, 1 for what follows `else`.

        Args:
            node: the statement or expression.
            scope: what names hold by now.
        """
        key = self._key(node)
        if key not in self._path.taken:
            self._path.taken[key] = self._decided(node, scope)
        return self._path.taken[key]

    def _decided(self, node: cst.If | cst.IfExp, scope: BodyScope) -> int:
        towards = self._path.towards
        if towards is not None:
            above = {id(each) for each in (towards, *self.tree.ancestors(towards))}
            for way, branch in enumerate((node.body, node.orelse)):
                if branch is not None and id(branch) in above:
                    return way
        truth = self._truth(node.test, scope)
        if truth is not None:
            return 0 if truth else 1
        if self._path.is_settled:
            raise NotReplayable(f"the fix makes it depend on a condition: {self.words(node.test)}")
        return 1 if node.orelse is None else 0

    def _truth(self, test: cst.BaseExpression, scope: BodyScope) -> bool | None:
        if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            truth = self._truth(test.expression, scope)
            return None if truth is None else not truth
        if isinstance(test, cst.BooleanOperation):
            sides = [self._truth(test.left, scope), self._truth(test.right, scope)]
            decisive = isinstance(test.operator, cst.Or)
            if decisive in sides:
                return decisive
            return None if None in sides else not decisive
        value = self.read(test, scope)
        return bool(value.value) if isinstance(value, Literal) else None
