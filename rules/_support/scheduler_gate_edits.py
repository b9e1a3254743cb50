"""The edits of AMP107's fix: a test around the scheduler, in the condition or around its body, behind `update`."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.diagnostics import Edit
from amplint.model.records import frozen
from amplint.rule import File, Statement

from . import hazard_calls

_WIDTH = 100
"""The columns that a condition may fill."""
_EXITS = (cst.Return, cst.Continue, cst.Break, cst.Raise)


@frozen
class GatePlace:
    """Where the gate goes: around neighbouring statements, or into the condition of an `if` that holds nothing else."""

    statements: tuple[Statement, ...]
    condition: cst.If | None = None
    in_loop: bool = False

    @property
    def first(self) -> Statement:
        """The first of the statements."""
        return self.statements[0]


def gated(file: File, place: GatePlace, update: cst.Call, test: str) -> list[Edit] | None:
    """The edits that let the scheduler step only if a test holds; None where it cannot be moved behind `update`."""
    if file.tree.span(update) > file.tree.span(place.first):
        return _moved(file, place, update, test)
    if place.condition is not None:
        return _narrowed(file, place.condition, test)
    first, last = file.editor.rows(place.first)[0], file.editor.rows(place.statements[-1])[1]
    return [file.editor.wrap(first, last, f"if {test}:")]


def _narrowed(file: File, condition: cst.If, test: str) -> list[Edit]:
    """The edits that put a test into a condition on one row with room for it, and else around the body."""
    start, end = file.tree.span(condition.test)
    end += sum(len(file.tree.module.code_for_node(each)) for each in file.tree.as_written(condition.test).rpar)
    row = file.range(condition).start.row
    width = len(file.source.line(row).rstrip()) + len(f" and {test}")
    body = file.range(condition.body).start.row
    if body == row + isinstance(condition.body, cst.IndentedBlock) and width <= _WIDTH:
        return _conjoined(file.tree.as_written(condition.test), start, end, test)
    if isinstance(condition.body, cst.SimpleStatementSuite):
        return [_unfolded(file, condition, condition.body, test)]
    return [file.editor.wrap(*_rows_of_body(file, condition.body), f"if {test}:")]


def _conjoined(node: cst.BaseExpression, start: int, end: int, test: str) -> list[Edit]:
    loose = isinstance(node, (cst.IfExp, cst.Lambda, cst.NamedExpr))
    loose = loose or (isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.Or))
    if loose and not node.lpar:
        return [Edit(start, start, "("), Edit(end, end, f") and {test}")]
    return [Edit(end, end, f" and {test}")]


def _rows_of_body(file: File, body: cst.BaseSuite) -> tuple[int, int]:
    assert isinstance(body, cst.IndentedBlock)
    first = body.body[0]
    assert isinstance(first, (cst.SimpleStatementLine, cst.BaseCompoundStatement))
    return file.editor.first_row(first, over_blanks=False), file.editor.last_row(body)


def _unfolded(file: File, condition: cst.If, body: cst.SimpleStatementSuite, test: str) -> Edit:
    """The suite behind a colon put on rows of its own, under a test."""
    text, start = file.source.text, file.tree.span(body.body[0])[0]
    indent = file.source.newline + file.editor.indent(condition) + file.editor.unit
    return Edit(len(text[:start].rstrip(" \t\r\n\\")), start, f"{indent}if {test}:{indent}{file.editor.unit}")


def _moved(file: File, place: GatePlace, update: cst.Call, test: str) -> list[Edit] | None:
    """The edits that put the scheduler, gated, behind `update`."""
    block = file.editor.block(place.first)
    target = file.editor.member_of(update, block) if block is not None else None
    if target is None or block is None or not is_alone(target) or hazard_calls.guards(file, update, block):
        return None
    if any(_leaves(statement) for statement in moved_over(file, place, update)):
        return None
    first, last = file.editor.first_row(place.first, over_blanks=False), file.editor.rows(place.statements[-1])[1]
    begin = file.editor.rows(place.first)[0]
    start = file.source.line_starts[begin - 1]
    if place.condition is not None:
        text, shift = file.editor.rows_text(begin, last), start
        for edit in reversed(_narrowed(file, place.condition, test)):
            text = text[: edit.start - shift] + edit.replacement + text[edit.end - shift :]
    else:
        text = file.editor.wrap(begin, last, f"if {test}:").replacement
    comments = file.editor.rows_text(first, begin - 1) if first < begin else ""
    return [file.editor.delete_rows(first, last), file.editor.insert_rows_after(target, comments + text)]


def _leaves(node: cst.CSTNode) -> bool:
    """Whether a statement may leave the block."""
    return isinstance(node, _EXITS) or any(_leaves(child) for child in node.children)


def moved_over(file: File, place: GatePlace, update: cst.Call) -> Sequence[cst.CSTNode]:
    """The statements that a scheduler is moved over; none when it stands behind `update` already."""
    siblings, block = list(file.editor.siblings(place.first)), file.editor.block(place.first)
    member = file.editor.member_of(update, block) if block is not None else None
    if member is None or file.tree.span(member) < file.tree.span(place.first):
        return ()
    return siblings[siblings.index(place.statements[-1]) + 1 : siblings.index(member)]


def is_alone(statement: cst.CSTNode) -> bool:
    """Whether a statement has its rows to itself."""
    return not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) == 1
