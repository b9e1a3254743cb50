"""A tensor expression: what a loss is computed from, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from amplint.dtypes.values import Value
from amplint.model.events import Region


@dataclass(frozen=True, eq=False)
class Operand:
    """A value that the expression takes from outside.

    Attributes:
        text: how the code writes it.
        dtype: as in `amplint.model.torch.precision`; "?" where the file does not tell.
        low, high: every element lies between them.
        detached: no gradient is asked of it.
        setting: one number, such as `self.temperature`, rather than a tensor.
        made_of: of a call, how the code writes the values from outside that it is given: a function may give others each time.
        sure: False where it is half only because a call looks like one of a model.
    """

    text: str
    dtype: str
    low: float
    high: float
    detached: bool = False
    setting: bool = False
    made_of: tuple[str, ...] = ()
    sure: bool = True


@dataclass(frozen=True, eq=False)
class Literal:
    """A literal, or what literals come to."""

    value: object


@dataclass(frozen=True, eq=False)
class Apply:
    """An operation of the closed list (`amplint.runtime.numeric.operations`) on expressions.

    `region` is the autocast region in effect, None outside of any; `graded` says whether gradients are recorded.
    """

    op: str
    arguments: tuple[Expression, ...]
    keywords: tuple[tuple[str, Expression], ...]
    region: Region | None
    graded: bool
    node: cst.CSTNode


@dataclass(frozen=True, eq=False)
class Container:
    """A tuple, a list, or the values of a dictionary under their keys."""

    items: tuple[Expression, ...]
    is_list: bool = False
    keys: tuple[object, ...] | None = None


@dataclass(frozen=True, eq=False)
class Thing:
    """What is no tensor: a function, a class, an object of one, a layer."""

    value: Value


@dataclass(frozen=True, eq=False)
class Outside:
    """Something that is not on the closed list; `what` names it."""

    what: str


Expression = Operand | Literal | Apply | Container | Thing | Outside

LAYOUT = frozenset(
    "view reshape squeeze unsqueeze permute transpose t flatten unflatten contiguous expand expand_as repeat clone narrow"
    " movedim swapaxes swapdims view_as reshape_as chunk split unbind select detach T mT H mH getitem cast identity".split()
)
"""Operations that give back the elements of their first operand."""


def short_name(op: str) -> str:
    """The name of an operation without where it is from."""
    return op.rpartition(".")[2]


def parts(expression: Expression) -> Iterator[Expression]:
    """What an expression is directly computed from."""
    if isinstance(expression, Apply):
        yield from expression.arguments
        yield from (value for _, value in expression.keywords)
    elif isinstance(expression, Container):
        yield from expression.items


def subexpressions(root: Expression) -> list[Expression]:
    """An expression and all that it is computed from, each once, operands before what they are operands of."""
    found: list[Expression] = []
    seen: set[int] = set()
    stack: list[tuple[Expression, bool]] = [(root, False)]
    while stack:
        current, is_done = stack.pop()
        if is_done:
            found.append(current)
        elif id(current) not in seen:
            seen.add(id(current))
            stack.append((current, True))
            stack.extend((part, False) for part in reversed(list(parts(current))) if id(part) not in seen)
    return found


def unlisted(expressions: Iterable[Expression]) -> Outside | Thing | None:
    """The first of some expressions, or of the items of those that are containers, that nothing can be computed from."""
    for each in expressions:
        found = unlisted(each.items) if isinstance(each, Container) else each
        if isinstance(found, (Outside, Thing)):
            return found
    return None


def is_raw(expression: Expression) -> bool:
    """Whether an expression is nothing but a value from outside, laid out in another way."""
    if isinstance(expression, Apply):
        return short_name(expression.op) in LAYOUT and is_raw(expression.arguments[0])
    return not isinstance(expression, Outside) and all(map(is_raw, parts(expression)))


def dependents(root: Expression, marks: Iterable[Expression]) -> set[int]:
    """The ids of the marked parts of an expression, and of all in it that is computed from them.

    Args:
        root: the expression.
        marks: the parts of it.
    """
    found = {id(mark) for mark in marks}
    for expression in subexpressions(root):
        if any(id(part) in found for part in parts(expression)):
            found.add(id(expression))
    return found


def is_same(one: Expression, other: Expression, apart: tuple[Expression, Expression] | None = None) -> bool:
    """Whether two expressions are written alike, and computed in the same regions.

    Args:
        one: the one.
        other: the other one.
        apart: a part of each, which are compared apart.
    """
    seen: set[tuple[int, int]] = set()
    stack = [(one, other)]
    while stack:
        mine, theirs = stack.pop()
        if apart is not None and mine is apart[0] and theirs is apart[1]:
            continue
        inside = list(parts(mine)), list(parts(theirs))
        if _features(mine) != _features(theirs) or len(inside[0]) != len(inside[1]):
            return False
        stack += [pair for pair in zip(*inside) if (id(pair[0]), id(pair[1])) not in seen]
        seen |= {(id(left), id(right)) for left, right in zip(*inside)}
    return True


def _features(expression: Expression) -> tuple[object, ...]:
    """What tells an expression from others, but for what it is computed from."""
    if isinstance(expression, Apply):
        return expression.op, expression.region, expression.graded, [key for key, _ in expression.keywords]
    if isinstance(expression, Operand):
        return expression.text, expression.dtype, expression.detached
    if isinstance(expression, Container):
        return Container, expression.keys
    return type(expression), repr(expression.value) if isinstance(expression, Literal) else ""
