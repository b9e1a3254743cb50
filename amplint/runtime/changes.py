"""What differs between two texts of a program: statements, and in those that have a counterpart the smallest expressions.

Comments, layout and docstrings are no difference, nor are the names of local variables, and the order of keywords.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import lru_cache
from textwrap import shorten

from amplint.python_ast.definitions import around
from amplint.runtime.renamed_locals import rename
from amplint.runtime.statement_parts import conjuncts, header_of, inner_blocks, parts_apart

_ALIKE = 0.5
"""The share of text that two statements have in common at least, if one has become the other."""
_LONG = 400
"""Texts with so many characters are compared by their words: the time that it takes grows with the square of their length."""
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Change:
    """A part of the code that is not in both texts.

    Attributes:
        old: the statement or expression as it stands; None for one that is put in.
        new: the same with the repair; None for one that is taken out.
        before: the statement that `old` is, or is in.
        after: the statement that `new` is, or is in.
    """

    old: ast.AST | None
    new: ast.AST | None
    before: ast.stmt | None
    after: ast.stmt | None

    @property
    def is_move(self) -> bool:
        """Whether a whole statement is in another place."""
        old, new = self.old, self.new
        return old is not None and new is not None and self._is_whole and ast.dump(old) == ast.dump(new)

    @property
    def _is_whole(self) -> bool:
        return self.old is self.before and self.new is self.after

    @property
    def text(self) -> str:
        """The statement in one line, without its body: with the repair, or else as it stands."""
        statement = self.after or self.before
        return shorten(header_of(statement), 60, placeholder=" ...") if statement is not None else ""


def changes(before: str, after: str, through_contexts: bool = False) -> list[Change]:
    """What differs between two texts, both of which parse.

    Args:
        before: the code as it stands.
        after: the code with the repair.
        through_contexts: whether it is no difference that statements move into `with` blocks or out of them.
    """
    return [*_compared(before, after, through_contexts)]


@lru_cache(maxsize=32)
def _compared(before: str, after: str, through_contexts: bool) -> tuple[Change, ...]:
    """What differs between two texts: a verdict asks the same of the same two texts again and again."""
    found = _changes(ast.parse(before), ast.parse(after), through_contexts)
    ordered = _changes(_ordered(before), _ordered(after), through_contexts) if found else []
    return tuple(ordered if len(ordered) < len(found) else found)


def _changes(mine: ast.Module, theirs: ast.Module, through_contexts: bool) -> list[Change]:
    comparison = _Comparison(through_contexts)
    found = list(comparison.blocks(mine.body, theirs.body))
    if found and rename(mine, [one.before for one in found], [one.after for one in found]):
        comparison = _Comparison(through_contexts)
        found = list(comparison.blocks(mine.body, theirs.body))
    gone = [one.old for one in found if one.new is None and isinstance(one.old, ast.stmt)]
    settled: set[int] = set()
    paired: list[Change] = []
    for is_kin in (_is_same, _is_same_test):
        for new in [one.new for one in found if one.old is None and isinstance(one.new, ast.stmt)]:
            old = next((each for each in gone if id(each) not in settled and is_kin(each, new)), None)
            if old is None or id(new) in settled:
                continue
            paired.append(Change(old, new, old, new))
            for inner in inner_blocks(old, new):
                paired += comparison.blocks(*inner)
            settled |= {id(each) for statement in (old, new) for each in ast.walk(statement)}
    return paired + [
        one for one in found if id(one.old or one.new) not in settled and id(one.new or one.old) not in settled
    ]


def _ordered(text: str) -> ast.Module:
    """A text, with the keywords of each call in the same order."""
    module = ast.parse(text)
    for call in ast.walk(module):
        if isinstance(call, ast.Call) and all(each.arg for each in call.keywords):
            call.keywords.sort(key=lambda each: each.arg or "")
    return module


def changes_in(found: Iterable[Change], before: str, after: str, functions: Collection[str]) -> list[Change]:
    """Those changes that lie in some functions; what a function is given shows in its body, and in its calls.

    Args:
        found: the changes.
        before: the code as it stands.
        after: the code with the repair.
        functions: the names of the functions, with those of the definitions around them; empty for what stands in none.
    """

    def lies_there(text: str, statement: ast.stmt | None) -> bool:
        return statement is not None and function_at(text, statement.lineno) in functions

    there = [one for one in found if lies_there(before, one.before) or lies_there(after, one.after)]
    return [one for one in there if not _is_signature(one)]


def _is_signature(one: Change) -> bool:
    """Whether a change is one of the parameters of a function, or of their types."""
    functions = ast.FunctionDef, ast.AsyncFunctionDef
    if not (isinstance(one.before, functions) and isinstance(one.after, functions)):
        return False
    return not any(part is one.new for each in one.after.decorator_list for part in ast.walk(each))


def function_at(text: str, row: int) -> str:
    """The name of the innermost definition that a row lies in; empty where it lies in none.

    Args:
        text: the code.
        row: counted from 1.
    """
    found = around(text, row)
    return found.name if found is not None else ""


def _is_same(old: ast.stmt, new: ast.stmt) -> bool:
    return ast.dump(old) == ast.dump(new)


def _is_same_test(old: ast.stmt, new: ast.stmt) -> bool:
    """Whether two `if` statements have a condition in common, to which others may have been added."""
    if not (isinstance(old, ast.If) and isinstance(new, ast.If)):
        return False
    mine, theirs = ({ast.dump(part) for part in conjuncts(each.test)} for each in (old, new))
    return mine <= theirs or theirs <= mine


@dataclass(frozen=True)
class _Comparison:
    through_contexts: bool
    _texts: dict[int, str] = field(default_factory=dict)
    """The texts of statements, by their ids: the trees outlive the comparison."""

    def blocks(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> Iterator[Change]:
        """The changes between two blocks of statements."""
        mine, theirs = self._flat(old), self._flat(new)
        keys = [[self._text(one) for one in block] for block in (mine, theirs)]
        matcher = SequenceMatcher(None, keys[0], keys[1], autojunk=False)
        for tag, start, end, there, until in matcher.get_opcodes():
            if tag != "equal":
                yield from self._between(mine[start:end], theirs[there:until])

    def _flat(self, block: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in block:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring
            found.append(statement)
            if self._is_through(statement):
                assert isinstance(statement, (ast.With, ast.AsyncWith)), "no other block is looked through"
                found += self._flat(statement.body)
        return found

    def _is_through(self, statement: ast.stmt) -> bool:
        return self.through_contexts and isinstance(statement, (ast.With, ast.AsyncWith))

    def _text(self, statement: ast.stmt) -> str:
        key = id(statement)
        if key not in self._texts:
            self._texts[key] = header_of(statement) if self._is_through(statement) else ast.unparse(statement)
        return self._texts[key]

    def _between(self, old: Sequence[ast.stmt], new: Sequence[ast.stmt]) -> Iterator[Change]:
        """The changes between two runs of statements, none of which is in the other."""
        waiting = list(old)
        for statement in new:
            shares = [self._likeness(one, statement) for one in waiting]
            counterpart = waiting[shares.index(max(shares))] if shares and max(shares) >= _ALIKE else None
            if counterpart is None:
                yield from self._alone(None, statement)
                continue
            for skipped in waiting[: waiting.index(counterpart)]:
                yield from self._alone(skipped, None)
            waiting = waiting[waiting.index(counterpart) + 1 :]
            yield from (Change(*pair, counterpart, statement) for pair in parts_apart(counterpart, statement))
            if not self._is_through(statement):
                for mine, theirs in inner_blocks(counterpart, statement):
                    yield from self.blocks(mine, theirs)
        for one in waiting:
            yield from self._alone(one, None)

    def _alone(self, old: ast.stmt | None, new: ast.stmt | None) -> Iterator[Change]:
        """A statement of one text, and those in it."""
        yield Change(old, new, old, new)
        statement = new if old is None else old
        if statement is None or self._is_through(statement):
            return
        for mine, _ in inner_blocks(statement, statement):
            for inner in self._flat(mine):
                yield from self._alone(None, inner) if old is None else self._alone(inner, None)

    def _likeness(self, old: ast.stmt, new: ast.stmt) -> float:
        """The share of text that two statements have in common; all of it, where all but the statements in them is equal."""
        if type(old) is not type(new):
            return 0.0
        if isinstance(old, _Definition) and isinstance(new, _Definition) and old.name == new.name:
            return 1.0
        return 1.0 if header_of(old) == header_of(new) else _share(self._text(old), self._text(new))


def _share(mine: str, theirs: str) -> float:
    """The share of two texts that they have in common."""
    is_long = max(len(mine), len(theirs)) >= _LONG
    parts: list[list[str]] = [re.findall(r"\w+", each) if is_long else list(each) for each in (mine, theirs)]
    matcher = SequenceMatcher[str](None, parts[0], parts[1], autojunk=False)
    bound = min(matcher.real_quick_ratio(), matcher.quick_ratio())
    return matcher.ratio() if bound >= _ALIKE else bound
