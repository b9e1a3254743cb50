"""Moves the end of a `with` block out of it: a statement and all that follows it, over several nested blocks if need be."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.diagnostics import Edit
from amplint.model.records import frozen
from amplint.rule import File

Line = cst.SimpleStatementLine | cst.SimpleStatementSuite
Member = cst.BaseStatement | cst.BaseSmallStatement


@frozen
class Cut:
    """A block cut in two: the statements that stay, and those that leave it."""

    block: cst.With
    stays: tuple[Member, ...]
    leaves: tuple[Member, ...]


def cut_before(file: File, block: cst.With, node: cst.CSTNode) -> Cut:
    """Cut a block in front of the statement that holds `node`."""
    return _cut(file, block, node, 0)


def cut_after(file: File, block: cst.With, node: cst.CSTNode) -> Cut:
    """Cut a block behind the statement that holds `node`."""
    return _cut(file, block, node, 1)


def _cut(file: File, block: cst.With, node: cst.CSTNode, behind: int) -> Cut:
    members = _members(block)
    inside = {node, *file.tree.ancestors(node)}
    index = next(index for index, member in enumerate(members) if member in inside) + behind
    return Cut(block, members[:index], members[index:])


def _members(block: cst.With) -> tuple[Member, ...]:
    """The statements of a block, those that share a line one by one."""
    found: list[Member] = []
    for line in [block.body] if isinstance(block.body, cst.SimpleStatementSuite) else block.body.body:
        if isinstance(line, Line):
            found += line.body
        else:
            assert isinstance(line, cst.BaseStatement)
            found.append(line)
    return tuple(found)


def dedent(file: File, cuts: Sequence[Cut]) -> tuple[Edit, ...]:
    """The edits that put what leaves under the indentation of the outermost block; `cuts` begin with the innermost one."""
    indent = file.editor.indent(cuts[-1].block)
    return tuple(edit for each in cuts if each.leaves for edit in _dedent(file, each, indent))


def _dedent(file: File, cut: Cut, indent: str) -> list[Edit]:
    first, body, edits = cut.leaves[0], cut.block.body, list[Edit]()
    line = file.tree.parent(first) if isinstance(first, cst.BaseSmallStatement) else first
    if isinstance(line, Line) and first is not line.body[0]:
        before = line.body[line.body.index(first) - 1]
        start, end = file.tree.span(before)[1], file.tree.span(first)[0]
        edits.append(Edit(start, end, f"{file.source.newline}{indent}"))
    if isinstance(body, cst.IndentedBlock):
        assert isinstance(line, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
        first_row = file.editor.rows(line)[1] + 1 if edits else file.editor.first_row(line)
        last_row = file.editor.last_row(body)
        if first_row <= last_row:
            edits.append(file.editor.shift(first_row, last_row, file.editor.indent(line), indent))
    return edits


def entered(file: File, region: cst.CSTNode) -> cst.CSTNode:
    """What enters a region: the item of the `with` statement, or the decorator."""
    if isinstance(region, cst.FunctionDef):
        entering = (each.decorator for each in region.decorators if is_region(file, each.decorator))
        return next(entering, region.name)
    return region


def is_region(file: File, context: cst.BaseExpression) -> bool:
    """Whether a context is an autocast region, and not one that only switches gradients off."""
    region = file.contexts.of(context)
    return region is not None and region.device != "grad"
