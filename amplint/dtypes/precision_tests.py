"""Tests of whether AMP is on, and the side of them that runs without."""

from __future__ import annotations

import libcst as cst

from amplint.dtypes.containers import text_key
from amplint.model import vocabulary
from amplint.model.events import Region
from amplint.roles.autocast_contexts import Contexts
from amplint.syntax.names import Names, dotted


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
    if isinstance(test, cst.Call):
        return dotted(test.func).rpartition(".")[2] == "is_autocast_enabled"
    name = dotted(test).rpartition(".")[2]
    return vocabulary.AMP_FLAG.search(name) is not None


def _switched_off(side: cst.BaseSuite, contexts: Contexts) -> Region | None:
    """The disabled region that a side enters."""
    items = (item.item for statement in side.body if isinstance(statement, cst.With) for item in statement.items)
    regions = (contexts.of(item) for item in items)
    return next((each for each in regions if each is not None and each.device != "grad" and each.enabled == "no"), None)
