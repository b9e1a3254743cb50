"""Which names are bound, on every path, where they are used: what a fix must not change for the worse.

Names of the module and of enclosing functions count as bound inside functions when they are bound anywhere. Past a use,
a name counts as bound, because the use would have raised. What a star import may bring is not known, and fine.
"""

from __future__ import annotations

import ast
from collections import Counter

from amplint.model.records import NamedTuple
from amplint.python_ast.bound_names import NameRecord
from amplint.python_ast.gate import TooDeep, parse
from amplint.python_ast.name_flow import NameFlow
from amplint.python_ast.scopes import module_scope


class UnboundName(NamedTuple):
    """A name that some path leaves unbound where it is used, by the scope of the use."""

    scope: str
    name: str


class Assigned:
    """The names of one file, and where they are bound.

    Args:
        module: the tree of the file.
        with_places: whether `is_bound` will be asked; what is noted for it takes the square of the number of names in memory.
    """

    def __init__(self, module: ast.Module, with_places: bool = True) -> None:
        record, scope = NameRecord(with_places), module_scope(module)
        record.anywhere |= scope.bound
        NameFlow(record, scope, frozenset()).run(module.body)
        stars = (node for node in ast.walk(module) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*")
        known = next(stars, None) is None
        self.anywhere = record.anywhere
        """Every name that some scope binds."""
        self._entries = record.entries
        self._misses = [miss for miss in record.misses if known or miss.name in record.anywhere]

    @property
    def unbound(self) -> Counter[UnboundName]:
        """The uses of names that may be unbound."""
        return Counter(UnboundName(miss.scope, miss.name) for miss in self._misses)

    def is_bound(self, name: str, row: int) -> bool:
        """Whether a name is bound on every path to the statement in a row, or the file uses it there as if it were.

        Args:
            name: the name.
            row: a row of the statement, 1-based; of nested statements the innermost counts.
        """
        around = [each for each in self._entries if each.first <= row <= each.last]
        if not around:
            return False
        entry = min(around, key=lambda each: each.last - each.first)
        scope = entry.scope
        if any(miss.block == entry.block and miss.name == name for miss in self._misses):
            return True
        if name in scope.bound and not scope.is_class:
            return entry.bound is None or name in entry.bound
        return scope.finds(name)


def newly_unbound(before: str, after: str) -> list[str]:
    """The names that an edited text leaves unbound where the text before did not; [] where that cannot be told.

    Args:
        before: the text as it was.
        after: the text with the edits.
    """
    try:
        old, new = Assigned(parse(before), with_places=False), Assigned(parse(after), with_places=False)
    except (SyntaxError, ValueError, TooDeep, RecursionError):
        return []
    worse = {use.name for use in new.unbound - old.unbound}
    foreign = {use.name for use in old.unbound} - old.anywhere
    # A text that uses names from nowhere gets them from what runs it, which may bring others as well.
    return sorted(worse & old.anywhere if foreign else worse)


def bound_somewhere(text: str) -> frozenset[str]:
    """All names that some scope of a text binds, on whatever path.

    Args:
        text: a text that parses.
    """
    return frozenset(Assigned(parse(text), with_places=False).anywhere)
