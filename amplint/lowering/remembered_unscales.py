"""Flags by which an object remembers that it has unscaled: `if not self.unscaled: ...; self.unscaled = True`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.lowering.graph_tools import events_in
from amplint.model.event_graph import Node
from amplint.model.events import Unscale
from amplint.syntax.access_paths import path_of
from amplint.syntax.nodes import is_reference, within


def is_remembered(branch: cst.If, then: Node) -> bool:
    """Whether a branch unscales unless a flag says that this is done, and sets the flag: where it is passed by, nobody needs to.

    Args:
        branch: the branch.
        then: what it does.
    """
    denied = set(_denied(branch.test))
    if not denied or not any(isinstance(event, Unscale) for event in events_in(then)):
        return False
    assigned = (each for each in within(branch.body) if isinstance(each, cst.Assign))
    set_here = {path_of(each.targets[0].target) for each in assigned if path_of(each.value) == "True"}
    return not denied.isdisjoint(set_here)


def _denied(test: cst.BaseExpression) -> Iterator[str]:
    """The flags that must not be set where a test holds."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        yield from (*_denied(test.left), *_denied(test.right))
    elif isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not) and is_reference(test.expression):
        yield path_of(test.expression)
