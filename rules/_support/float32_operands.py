"""The fix of the numeric rules: an operand computed in float32 instead of float16."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from amplint.diagnostics import Applicability, Edit, Fix
from amplint.dtypes import Tensor
from amplint.model.torch.operators import Policy, policy
from amplint.rule import File

_TIGHT = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


def widened(file: File, nodes: Iterable[cst.BaseExpression], applicability: Applicability) -> Fix:
    """Add `.float()` to expressions."""
    nodes = list(nodes)
    texts = [" ".join(file.tree.text(node).split()) for node in nodes]
    shown = " and ".join(f"`{text}`" for text in texts)
    plain = len(shown) < 60 and "#" not in shown
    title = f"Add `.float()` to {shown}" if plain else "Add `.float()` to the operand"
    edits = (edit for node in nodes for edit in widening(file, node))
    return Fix(title, tuple(sorted(edits)), applicability)


def innermost(operand: Tensor, node: cst.BaseExpression) -> cst.BaseExpression:
    """Where to widen what `node` computes, so that all of its arithmetic runs in float32: at its first float16 operand."""
    made = operand.maker
    if made is None or made.node is not node or made.in_place or policy(made.op, "cuda") is not Policy.UNLISTED:
        return node
    for position, value in enumerate(made.arguments.values):
        below = made.arguments.node(position)
        if isinstance(value, Tensor) and value.half and below is not None:
            return innermost(value, below)
    return node


def widening(file: File, node: cst.BaseExpression) -> Iterator[Edit]:
    """The edits that add `.float()` to an expression, in parentheses where it needs them."""
    start, end = file.tree.span(node)
    written = file.tree.as_written(node)
    for _ in written.rpar:  # a node's span leaves out its own parentheses
        end = file.source.text.index(")", end) + 1
    if isinstance(node, _TIGHT) or written.lpar:
        yield Edit(end, end, ".float()")
    else:
        yield Edit(start, start, "(")
        yield Edit(end, end, ").float()")
