"""What a statement that moves comes to stand in, or leaves: conditions, and autocast regions."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from amplint.model.events import NO_GRAD, AutocastEnter
from amplint.rule import File
from amplint.runtime.changes import Change, function_at
from amplint.runtime.replay.walked_side import Side

_SMALL = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign)
"""Statements that hold no others."""
_BLIND = frozenset({"print"})
"""Functions that compute nothing that a region could change."""


def crosses_conditions(before: Side, after: Side) -> bool:
    """Whether a statement that happens on the path stands behind other conditions than it did.

    Where such a condition comes out in one way all along the path, both texts do the same there: the others tell them apart.

    Args:
        before: the text as it stands.
        after: the text with the fix.
    """
    mine, theirs = (_conditions(side) for side in (before, after))
    return any(mine[text] != theirs[text] for text in mine.keys() & theirs.keys())


def _conditions(side: Side) -> dict[str, set[tuple[str, ...]]]:
    """The conditions around each statement that happens on the path, each with the answer that leads there."""
    rows = {side.row(event) for event in side.events if event.site >= 0}
    found: dict[str, set[tuple[str, ...]]] = {}
    for statement, conditions in _behind(ast.parse(side.file.source.text), ()):
        if not rows.isdisjoint(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)):
            found.setdefault(ast.unparse(statement), set()).add(conditions)
    return found


def _behind(node: ast.AST, conditions: tuple[str, ...]) -> Iterator[tuple[ast.stmt, tuple[str, ...]]]:
    """The statements in a node that hold no others, each with the conditions around it."""
    for name, value in ast.iter_fields(node):
        parts = value if isinstance(value, list) else [value]
        inner = conditions
        if isinstance(node, ast.If) and name in ("body", "orelse"):
            inner = (*conditions, f"{name} {ast.unparse(node.test)}")
        for part in parts:
            if isinstance(part, _SMALL):
                yield part, inner
            elif isinstance(part, (ast.stmt, ast.excepthandler, ast.match_case)):
                yield from _behind(part, inner)


def moved_across_regions(before: Side, after: Side, own: File | None) -> list[Change]:
    """The statements that call something, and that a repair moves into a region, or out of one, as the fix of the rule does not.

    Args:
        before: the text as it stands.
        after: the text with the repair.
        own: the text with the fix of the rule; None where that is what is judged, or nobody knows it: then it is not known what
            was to leave a region.
    """
    headers = _regions(before) | _regions(after)
    functions = before.functions | after.functions
    mine, theirs = (_calls(each.file, headers, functions) for each in (before, after))
    fixed = _calls(own, headers, functions) if own is not None else _Calls((), ())
    into = theirs.inside_texts - mine.inside_texts - (fixed.inside_texts - mine.inside_texts)
    found = list(_moved(into, mine.outside, theirs.inside, mine.outside_texts - theirs.outside_texts))
    if own is not None:
        out = theirs.outside_texts - mine.outside_texts - (fixed.outside_texts - mine.outside_texts)
        found += _moved(out, mine.inside, theirs.outside, mine.inside_texts - theirs.inside_texts)
    return found


def _moved(
    moved: Counter[str], old: Sequence[ast.stmt], new: Sequence[ast.stmt], gone: Counter[str]
) -> Iterator[Change]:
    """Those of some statements that are in another place, and not only put in."""
    for statement in new:
        text = ast.unparse(statement)
        was = next((each for each in old if ast.unparse(each) == text), None)
        if moved[text] > 0 and was is not None and gone[text]:
            moved[text] -= 1
            yield Change(was, statement, was, statement)


def _regions(side: Side) -> frozenset[str]:
    """What the `with` statements that enter regions on the path are written like."""
    entered = [each for each in side.events if isinstance(each, AutocastEnter) and each.region.device != NO_GRAD.device]
    rows = {side.row(each) for each in entered if each.site >= 0}
    contexts = [*_contexts(side.file)]
    return frozenset(_header(each) for each in contexts if rows & {each.lineno, *(_rows_of_items(each))})


def _contexts(file: File) -> Iterator[ast.With | ast.AsyncWith]:
    for node in ast.walk(ast.parse(file.source.text)):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            yield node


def _rows_of_items(node: ast.With | ast.AsyncWith) -> Iterator[int]:
    return (item.context_expr.lineno for item in node.items)


def _header(node: ast.With | ast.AsyncWith) -> str:
    return ", ".join(map(ast.unparse, node.items))


@dataclass(frozen=True)
class _Calls:
    """The statements of a text that call something and hold no others."""

    inside: Sequence[ast.stmt]
    """Those in regions."""
    outside: Sequence[ast.stmt]
    """The others."""

    @property
    def inside_texts(self) -> Counter[str]:
        return Counter(map(ast.unparse, self.inside))

    @property
    def outside_texts(self) -> Counter[str]:
        return Counter(map(ast.unparse, self.outside))


def _calls(file: File, headers: Collection[str], functions: Collection[str]) -> _Calls:
    """The statements that call something, of some functions.

    Args:
        file: the text.
        headers: what the `with` statements that enter regions are written like.
        functions: the names of the functions.
    """
    text = file.source.text
    rows = [(each.lineno, each.end_lineno or 0) for each in _contexts(file) if _header(each) in headers]
    inside: list[ast.stmt] = []
    outside: list[ast.stmt] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, _SMALL) and _calls_unknown(node):
            if function_at(text, node.lineno) in functions:
                is_inside = any(first <= node.lineno <= last for first, last in rows)
                (inside if is_inside else outside).append(node)
    return _Calls(inside, outside)


def _calls_unknown(statement: ast.stmt) -> bool:
    calls = [each for each in ast.walk(statement) if isinstance(each, ast.Call)]
    return any(not (isinstance(each.func, ast.Name) and each.func.id in _BLIND) for each in calls)
