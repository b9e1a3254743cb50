"""Accumulation of gradients: what belongs into the branch that steps, and how it gets there."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.diagnostics import Edit
from amplint.model.events import Clip, GradAccess, ScalerStep, ScalerUpdate, Unscale
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import File, Found, Statement

from . import hazard_calls, protocol_edits


def repair_both(file: File, found: Found) -> tuple[tuple[Edit, ...], bool] | None:
    """The edits that bring a hazard's call to the step, and whether they move nothing but `unscale_` and `update`.

    Where the scaler is both unscaled and updated for each micro-batch, neither may move without the other: PyTorch raises
    then. None where a place cannot be told.
    """
    partners = [
        other
        for kind in (HazardKind.UNSCALE_IN_ACCUMULATION, HazardKind.UPDATE_IN_ACCUMULATION)
        for other in file.analysis.of(kind)
        if other.hazard.scaler == found.hazard.scaler and other.silent and found.silent
        if file.tree.function(other.node) is file.tree.function(found.node)
    ]
    edits: list[Edit] = []
    plain = True
    for each in partners or [found]:
        is_update = each.hazard.kind is HazardKind.UPDATE_IN_ACCUMULATION
        moved = _update_moved(file, each) if is_update else _unscale_moved(file, each)
        if moved is None:
            return None
        edits += moved[0]
        plain = plain and moved[1]
    return protocol_edits.merged(*edits), plain


_Moved = tuple[tuple[Edit, ...], bool]


def _update_moved(file: File, found: Found) -> _Moved | None:
    """The update behind the last step of an iteration, where there may be one already."""
    update, step = file.editor.statement(found.node), _last_step(file, found)
    if not isinstance(update, cst.SimpleStatementLine) or step is None or len(file.editor.siblings(update)) == 1:
        return None
    block = file.editor.block(step)
    if any(_runs_without(file, call, block) for call in found.calls_at_home(Unscale)):
        return None
    if block is file.editor.block(update) and file.tree.span(step) < file.tree.span(update):
        return None
    updates = [file.editor.statement(each) for each in found.calls(ScalerUpdate)]
    if any(
        file.editor.block(each) is block and file.tree.span(step) < file.tree.span(each) for each in updates if each
    ):
        return (protocol_edits.without(file, update),), True
    return tuple(file.editor.move_after(update, step)), True


def _runs_without(file: File, unscale: cst.Call, block: cst.CSTNode | None) -> bool:
    """Whether an `unscale_` that does not move may run where the block of the step does not: without `update` it would raise the
    next time."""
    moves = any(each.node is unscale for each in file.analysis.of(HazardKind.UNSCALE_IN_ACCUMULATION))
    return not moves and not hazard_calls.holds(file, block, unscale)


def _unscale_moved(file: File, found: Found) -> _Moved | None:
    """`unscale_`, and what uses the gradients behind it, before the step."""
    step = _only_step(file, found)
    statements = _unscaling(file, found, step) if step is not None else None
    if step is None or not statements or _is_updated_without(file, found, step):
        return None
    edits = _move(file, statements, before=_first_use(file, found, step, statements))
    alone = len(statements) == 1 and statements[0] is file.editor.statement(found.node)
    return (edits, alone) if edits is not None else None


def _is_updated_without(file: File, found: Found, step: cst.CSTNode) -> bool:
    """Whether an `update` that does not move may run where the step does not: without an `unscale_` before it, it would raise."""
    moving = {each.node for each in file.analysis.of(HazardKind.UPDATE_IN_ACCUMULATION)}
    updates = [each for each in found.calls_at_home(ScalerUpdate) if each not in moving]
    return any(protocol_edits.asked_only_there(file, step, update) for update in updates)


def _only_step(file: File, found: Found) -> cst.SimpleStatementLine | None:
    """The statement of the only step that the scaler takes, if it stands in the hazard's function."""
    steps = found.calls(ScalerStep)
    if len(steps) != 1 or file.tree.function(steps[0]) is not file.tree.function(found.node):
        return None
    line = file.editor.statement(steps[0])
    return line if isinstance(line, cst.SimpleStatementLine) else None


def _last_step(file: File, found: Found) -> cst.SimpleStatementLine | None:
    """The statement of the last step that the scaler takes, if all of them are members of one block of the hazard's function."""
    steps = found.calls(ScalerStep)
    home = file.tree.function(found.node)
    lines = [file.editor.statement(step) for step in steps if file.tree.function(step) is home]
    plain = [line for line in lines if isinstance(line, cst.SimpleStatementLine)]
    together = len({file.editor.block(line) for line in plain}) == 1 and len(plain) == len(steps)
    return max(plain, key=file.tree.span) if together else None


def _unscaling(file: File, found: Found, step: cst.SimpleStatementLine) -> list[Statement] | None:
    """The statements that unscale and then use the gradients, as they stand one after the other; None for any other layout.

    `unscale_` may stand with the clip in a branch that asks for a setting ("if args.clip > 0:"): then that branch moves.
    """
    users = _users(found)
    head = file.editor.statement(found.node)
    if head is None or not _is_all_users(file, head, users):
        return None
    while (around := _branch_around(file, head)) is not None and _is_all_users(file, around, users):
        head = around
    siblings = list(file.editor.siblings(head))
    run: list[Statement] = [head]
    for statement in siblings[siblings.index(head) + 1 :]:
        if not isinstance(statement, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            return None
        if step in protocol_edits.inside(statement) or not _is_all_users(file, statement, users):
            break
        run.append(statement)
    end = file.tree.span(run[-1])[1]
    later = [user for user in users if end < file.tree.span(user)[0] < file.tree.span(step)[0]]
    in_branch = file.editor.block(step)
    return run if all(hazard_calls.holds(file, in_branch, user) for user in later) else None


def _branch_around(file: File, statement: Statement) -> cst.If | None:
    """The branch that a statement is a direct member of."""
    block = file.editor.block(statement)
    owner = file.tree.parent(block) if block is not None else None
    return owner if isinstance(owner, cst.If) else None


def _users(found: Found) -> list[cst.CSTNode]:
    return found.at_home(Unscale, Clip, GradAccess)


def _is_all_users(file: File, statement: Statement, users: list[cst.CSTNode]) -> bool:
    """Whether a statement does nothing but unscale gradients and use them."""
    inside = [user for user in users if hazard_calls.holds(file, statement, user)]
    if isinstance(statement, cst.SimpleStatementLine):
        return bool(inside)
    if not isinstance(statement, (cst.If, cst.For)) or statement.orelse is not None or not inside:
        return False
    members = statement.body.body
    return isinstance(statement, cst.For) or all(
        isinstance(member, (cst.SimpleStatementLine, cst.BaseCompoundStatement)) and _is_all_users(file, member, users)
        for member in members
    )


def _first_use(file: File, found: Found, step: cst.SimpleStatementLine, moved: Sequence[Statement]) -> Statement:
    """The first statement of the step's block that uses gradients, behind the loop of the micro-batches: the step itself, or a
    clip before it that does not move."""
    block = file.editor.block(step)
    users = [user for user in _users(found) if user is not found.node and hazard_calls.holds(file, block, user)]
    members = [file.editor.member_of(user, block) for user in users] if block is not None else []
    behind = (each for each in members if each is not None and not hazard_calls.holds(file, each, found.node))
    staying = [member for member in behind if member not in moved]
    return min([*staying, step], key=file.tree.span)


def _move(file: File, statements: Sequence[Statement], *, before: Statement) -> tuple[Edit, ...] | None:
    """Move neighbouring statements; None where their block would be empty, or where what they assign is read elsewhere."""
    block = file.editor.block(statements[0])
    if len(file.editor.siblings(statements[0])) <= len(statements) or _is_missed(file, statements, before):
        return None
    first, last = file.editor.rows(statements[0])[0], file.editor.rows(statements[-1])[1]
    start = file.source.line_starts[file.editor.rows(before)[0] - 1]
    indent, newline = file.editor.indent(before), file.source.newline
    lines = file.editor.shifted(first, last, file.editor.indent(statements[0]), indent)
    insertion = Edit(start, start, "".join(f"{line}{newline}" for line in lines))
    assert block is not None
    return tuple(sorted([insertion, file.editor.delete_rows(first, last)]))


def _is_missed(file: File, statements: Sequence[Statement], before: Statement) -> bool:
    """Whether a name that the statements assign is read outside of them and of the block that they go to."""
    moved = {node for statement in statements for node in protocol_edits.inside(statement)}
    names = {
        node.target.value for node in moved if isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Name)
    }
    home = file.tree.function(statements[0])
    target = file.editor.block(before)
    return any(
        name.value in names and name not in moved
        for name in file.tree.find(cst.Name)
        if file.tree.function(name) is home and not hazard_calls.holds(file, target, name)
    )
