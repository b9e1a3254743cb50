"""Moves an autocast region from around a loop to around the forward pass in it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import Edit
from amplint.rule import File, Statement

from .outside_autocast import may_compute

_LOOPS = (cst.For, cst.While)


def narrow(file: File, block: cst.With, backward: cst.CSTNode) -> tuple[Edit, ...] | None:
    """The edits that leave of a region what stands before the backward pass in the innermost loop.

    None where anything else computes in it, or stands on lines that cannot be moved by themselves.
    """
    loop = next((above for above in _around(file, backward, block) if isinstance(above, _LOOPS)), None)
    if loop is None or not isinstance(loop.body, cst.IndentedBlock) or not isinstance(block.body, cst.IndentedBlock):
        return None
    last = file.editor.member_of(backward, loop.body)
    members = _statements(loop.body)
    if not isinstance(last, cst.SimpleStatementLine) or len(members) != len(loop.body.body):
        return None
    stays, leaves = members[: members.index(last)], members[members.index(last) :]
    while stays and not may_compute(file, stays[:1]):
        leaves.append(stays.pop(0))
    while stays and not may_compute(file, stays[-1:]):
        leaves.append(stays.pop())
    if not stays or may_compute(file, leaves) or may_compute(file, _beside(file, loop, block)):
        return None
    return _edits(file, block, stays)


def _statements(block: cst.IndentedBlock) -> list[Statement]:
    return [each for each in block.body if isinstance(each, (cst.SimpleStatementLine, cst.BaseCompoundStatement))]


def _around(file: File, node: cst.CSTNode, block: cst.With) -> Iterator[cst.CSTNode]:
    """What stands between a node and the block around it; nothing when a function begins in between."""
    around: list[cst.CSTNode] = []
    for above in file.tree.ancestors(node):
        if isinstance(above, (cst.FunctionDef, cst.Lambda)):
            return
        if above is block:
            yield from around
            return
        around.append(above)


def _beside(file: File, loop: cst.CSTNode, block: cst.With) -> Iterator[cst.CSTNode]:
    """All code in the block but the body of the loop."""
    below = loop
    yield from (child for child in loop.children if child is not getattr(loop, "body", None))
    for above in file.tree.ancestors(loop):
        if above is block:
            return
        yield from (child for child in above.children if child is not below)
        below = above


def _edits(file: File, block: cst.With, stays: list[Statement]) -> tuple[Edit, ...] | None:
    editor = file.editor
    body = block.body
    assert isinstance(body, cst.IndentedBlock)
    head, first = editor.rows(block)[0], body.body[0]
    if not isinstance(first, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
        return None
    start, indent, inner = editor.first_row(first, over_blanks=False), editor.indent(block), editor.indent(first)
    kept = editor.indent(stays[0])
    # What stays keeps its place: the level that it loses with the old block it gains by the new one.
    step, rest = inner[len(indent) :], kept[len(inner) :]
    if start != head + 1 or not inner.startswith(indent) or not kept.startswith(inner) or step + rest != rest + step:
        return None
    top, bottom = editor.first_row(stays[0], over_blanks=False), editor.rows(stays[-1])[1]
    header = indent + rest + file.source.line(head).strip()
    place = file.source.line_starts[top - 1]
    shifted = [(start, top - 1), (bottom + 1, editor.last_row(body))]
    before, after = ([editor.shift(a, z, inner, indent)] if a <= z else [] for a, z in shifted)
    dropped = Edit(file.source.line_starts[head - 1], file.source.line_starts[head], "")
    return (dropped, *before, Edit(place, place, header + file.source.newline), *after)
