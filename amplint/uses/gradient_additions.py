"""What is added to gradients that is not scaled like them: weights, as decay does, or noise."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from amplint.model.events import ADD
from amplint.roles.gradients import is_gradient
from amplint.syntax.access_paths import path_of
from amplint.syntax.nodes import within
from amplint.syntax.value_flow import ValueFlow
from amplint.syntax.value_uses import How
from amplint.syntax.words import words

_COPIES = frozenset({"detach", "clone", "float", "to"})
"""Methods of weights that return the same numbers."""
_NOISE = re.compile(r"^(randn|randn_like|rand_like|normal|normal_|noise)$")


def added(flow: ValueFlow, change: cst.CSTNode, target: cst.BaseExpression) -> str:
    """ "add" if a change of the gradient `target` adds something that is plainly not scaled: the weights, or noise.

    Args:
        flow: where values go.
        change: the statement, or the call.
        target: the gradient that it changes.
    """
    found = set(words(change))
    if "get_scale" in found:
        return ""
    if any(map(_NOISE.match, found)):
        return ADD
    if len(list(_gradients(change))) > 1:
        return ""  # another gradient, scaled like this one
    weights = path_of(target).removesuffix(".data").removesuffix(".grad")
    plain = [each for each in within(change) if path_of(each) in (weights, f"{weights}.data")]
    return ADD if weights and any(_is_whole(each, flow) for each in plain) else ""


def _is_whole(weights: cst.CSTNode, flow: ValueFlow) -> bool:
    """Whether weights are used as they are, or a copy of them is; not their shape, say."""
    use = flow.use(weights)
    return use.how is not How.ATTRIBUTE and (use.how is not How.METHOD or use.name in _COPIES)


def _gradients(node: cst.CSTNode) -> Iterator[cst.Attribute]:
    return (each for each in within(node) if isinstance(each, cst.Attribute) and is_gradient(each))


def has_gradient(node: cst.CSTNode) -> bool:
    """Whether a gradient is read in an expression."""
    return next(_gradients(node), None) is not None
