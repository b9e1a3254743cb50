"""Mutations of statements: deleted, swapped, moved in and out of blocks, guarded differently."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .program_text import SMALL, Change, Compound, ProgramText, callee, dotted, own_expressions

_REGION = 'with torch.autocast("cuda", dtype=torch.float16):\n'


def delete_call(program: ProgramText) -> Iterator[Change]:
    """A call that nothing uses the value of, or a jump, is gone."""
    for block in program.blocks():
        for statement in block:
            is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
            if is_call or isinstance(statement, (ast.Continue, ast.Break, ast.AugAssign)):
                rest = "pass\n" if len(block) == 1 else ""
                yield program.put_rows(f"delete `{_line(statement)}`", [statement], rest)


def swap_neighbours(program: ProgramText) -> Iterator[Change]:
    """Two statements that follow each other change places."""
    for block in program.blocks():
        for first, second in zip(block, block[1:]):
            if isinstance(first, SMALL) and isinstance(second, SMALL) and not _needs(second, first):
                text = program.block([second]) + program.block([first])
                what = f"swap `{_line(first)}` with `{_line(second)}`"
                yield program.put_rows(what, [first, second], text)


def repeat_call(program: ProgramText) -> Iterator[Change]:
    """A call happens twice."""
    for statement in program.statements():
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            what = f"repeat `{_line(statement)}`"
            yield program.put_rows(what, [statement], program.block([statement]) * 2)


def move_out(program: ProgramText) -> Iterator[Change]:
    """The first or the last statement of a block stands before or behind it."""
    for statement in program.statements():
        body = getattr(statement, "body", [])
        if not isinstance(statement, Compound) or len(body) < 2 or getattr(statement, "orelse", []):
            continue
        head = program.block([statement]).splitlines(keepends=True)[: body[0].lineno - statement.lineno]
        whole, column = "".join(head), body[0].col_offset - statement.col_offset
        for where, inside, outside, ahead in (
            ("behind", body[:-1], body[-1], False),
            ("before", body[1:], body[0], True),
        ):
            if not isinstance(outside, SMALL) or isinstance(outside, (ast.Continue, ast.Break, ast.Return)):
                continue
            kept = whole + _indented(program.block(inside), column)
            moved = program.block([outside])
            what = f"move `{_line(outside)}` {where} `{_line(statement)}`"
            yield program.put_rows(what, [statement], moved + kept if ahead else kept + moved)


def move_in(program: ProgramText) -> Iterator[Change]:
    """What follows a block, or goes before it, stands in it."""
    for block in program.blocks():
        for first, second in zip(block, block[1:]):
            if isinstance(first, (ast.With, ast.If, ast.For)) and isinstance(second, SMALL):
                if not getattr(first, "orelse", []):
                    column = first.body[0].col_offset - first.col_offset
                    text = program.block([first]) + _indented(program.block([second]), column)
                    what = f"move `{_line(second)}` into `{_line(first)}`"
                    yield program.put_rows(what, [first, second], text)
            if isinstance(second, (ast.With, ast.If)) and isinstance(first, SMALL):
                lines = program.block([second]).splitlines(keepends=True)
                head = second.body[0].lineno - second.lineno
                column = second.body[0].col_offset - second.col_offset
                text = "".join([*lines[:head], _indented(program.block([first]), column), *lines[head:]])
                what = f"move `{_line(first)}` into `{_line(second)}`"
                yield program.put_rows(what, [first, second], text)


def unwrap(program: ProgramText) -> Iterator[Change]:
    """A region, a condition or a handler is gone; what stands in it stays."""
    for statement in program.statements():
        if isinstance(statement, (ast.With, ast.If, ast.Try)) and not getattr(statement, "orelse", []):
            yield program.put_rows(f"unwrap `{_line(statement)}`", [statement], program.block(statement.body))


def wrap(program: ProgramText) -> Iterator[Change]:
    """A call runs in an autocast region of its own."""
    for statement in program.statements():
        if isinstance(statement, (ast.Expr, ast.Assign)) and isinstance(statement.value, ast.Call):
            if callee(statement.value) in ("backward", "step", "grad", "clip_grad_norm_"):
                text = _REGION + _indented(program.block([statement]), 4)
                yield program.put_rows(f"run `{_line(statement)}` in a region", [statement], text)


def guard(program: ProgramText) -> Iterator[Change]:
    """A call is left out in every other iteration, or where the loss is not finite."""
    for statement in program.statements():
        if isinstance(statement, ast.Expr) and callee(statement.value) in ("step", "update", "unscale_", "backward"):
            text = "if torch.rand(()) < 0.5:\n" + _indented(program.block([statement]), 4)
            yield program.put_rows(f"leave `{_line(statement)}` to chance", [statement], text)


def _indented(block: str, column: int) -> str:
    return "".join(" " * column + line if line.strip() else line for line in block.splitlines(keepends=True))


def _line(statement: ast.stmt) -> str:
    """A statement in one line; of a block its head."""
    return ast.unparse(statement).partition("\n")[0]


def _needs(second: ast.stmt, first: ast.stmt) -> bool:
    """Whether one statement reads a name that the other binds: swapped, it might not be bound."""
    bound = {each.id for each in ast.walk(first) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    read = {dotted(each) for each in own_expressions(second)} - {""}
    return bool(bound & read)


STATEMENTS = (delete_call, swap_neighbours, repeat_call, move_out, move_in, unwrap, wrap, guard)
