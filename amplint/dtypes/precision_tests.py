"""Tests of whether AMP is on, and the side of them that runs without."""

from __future__ import annotations

import libcst as cst

from amplint.dtypes.containers import text_key
from amplint.model import vocabulary
from amplint.model.events import Region
from amplint.roles.autocast_contexts import Contexts
from amplint.syntax.access_paths import option_key
from amplint.syntax.names import Names, dotted
from amplint.syntax.nodes import within


def side_without_amp(node: cst.If, contexts: Contexts) -> tuple[cst.BaseSuite, Region] | None:
    """The side of an `if` on which autocast is off, with the region that says so.

    Code that switches autocast off where a flag of AMP is set, and nowhere else, is under no autocast where it is not set.

    Args:
        node: the `if`, the one of an `elif` included.
        contexts: what regions the file enters.
    """
    if type(node.orelse) is not cst.Else:
        return None
    test, set_side, plain = node.test, node.body, node.orelse.body
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        test, set_side, plain = test.expression, plain, set_side
    if not _asks_for_amp(test) or _switched_off(plain, contexts) is not None:
        return None
    off = _switched_off(set_side, contexts)
    return None if off is None else (plain, off)


def side_with_amp(node: cst.If, contexts: Contexts) -> cst.BaseSuite | None:
    """The side of an `if` that runs in a region which lowers precision, where the other one, or what follows, runs without AMP.

    What follows is looked at as it runs with AMP, as it is where one region has the flag (`autocast(enabled=amp)`).

    Args:
        node: the `if`.
        contexts: what regions the file enters.
    """
    on, other = _is_on(node.test), node.orelse.body if type(node.orelse) is cst.Else else None
    if on is None or (node.orelse is not None and other is None):
        return None
    lowered, plain = (node.body, other) if on else (other, node.body)
    if lowered is None or not lowers(lowered, contexts):
        return None
    return lowered if plain is None or not lowers(plain, contexts) else None


def side_that_is_plain(node: cst.If) -> cst.BaseSuite | None:
    """The side of an `if` that runs without AMP, as its test says; None where it says nothing, or there is none.

    Args:
        node: the `if`.
    """
    on = _is_on(node.test)
    other = node.orelse.body if type(node.orelse) is cst.Else else None
    return None if on is None else other if on else node.body


def _is_on(test: cst.BaseExpression) -> bool | None:
    """Whether AMP is on where a test holds; None where it says nothing of that."""
    match test:
        case cst.UnaryOperation(operator=cst.Not(), expression=asked):
            on = _is_on(asked)
            return None if on is None else not on
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            sides = {_is_on(left), _is_on(right)}
            return True if sides == {True} or (isinstance(operator, cst.And) and True in sides) else None
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator, comparator=right)]):
            if _asks_for_amp(left) and dotted(right) == "None":
                return {cst.IsNot: True, cst.Is: False}.get(type(operator))
            named = text_key(right)
            if named is not None and vocabulary.AMP_VALUE.search(named.lower()):
                return {cst.Equal: True, cst.NotEqual: False}.get(type(operator))
            return None
    return True if _asks_for_amp(test) else None


def lowers(side: cst.BaseSuite, contexts: Contexts) -> bool:
    """Whether a side of an `if` enters a region that lowers precision.

    Args:
        side: the side.
        contexts: what regions the file enters.
    """
    items = (item.item for item in within(side) if isinstance(item, cst.WithItem))
    return any(region is not None and region.lowers for region in map(contexts.of, items))


def asks_about_region(test: cst.Call, region: Region | None, names: Names) -> bool:
    """Whether a test asks for the autocast region that lowers precision there: `torch.is_autocast_enabled()` asks about CUDA.

    Args:
        test: the call that asks.
        region: the region in effect.
        names: what the names of the file mean.
    """
    if region is None or not names.all_in(test.func, {"torch.is_autocast_enabled"}):
        return False
    asked = text_key(test.args[0].value) if test.args else "cuda"
    return region.lowers and asked is not None and region.device in (asked, "?")


def _asks_for_amp(test: cst.BaseExpression) -> bool:
    if type(test) is cst.Call and dotted(test.func).rpartition(".")[2] == "is_autocast_enabled":
        return True
    flag = option_key(test) or dotted(test).rpartition(".")[2]
    return any(kind.search(flag) for kind in (vocabulary.AMP_FLAG, vocabulary.UNSCALED_FLAG))


def _switched_off(side: cst.BaseSuite, contexts: Contexts) -> Region | None:
    """The disabled region that a side enters."""
    items = (item.item for statement in side.body if isinstance(statement, cst.With) for item in statement.items)
    regions = (contexts.of(item) for item in items)
    return next((each for each in regions if each is not None and each.device != "grad" and each.enabled == "no"), None)
