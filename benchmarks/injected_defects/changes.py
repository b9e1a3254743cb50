"""The changes that put a defect of mixed precision into a right program, a kind a function.

Each function yields the places of a file where its change can be made: the line, and the whole text that the change makes of
the file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from source import Source, calls, method, receiver, span

SCALER, SCHEDULE = "scaler", "sched"
Places = Iterator[tuple[int, str]]


@dataclass(frozen=True)
class Kind:
    """A kind of change, in words, and the codes of which one at least is expected after it."""

    name: str
    words: str
    codes: frozenset[str]
    places: Callable[[Source], Places]


KINDS: dict[str, Kind] = {}


def _kind(name: str, words: str, *codes: str) -> Callable[[Callable[[Source], Places]], Callable[[Source], Places]]:
    def entered(places: Callable[[Source], Places]) -> Callable[[Source], Places]:
        KINDS[name] = Kind(name, words, frozenset(codes), places)
        return places

    return entered


def _called(source: Source, name: str, on: str = "") -> Iterator[tuple[ast.Expr, ast.Call, list[ast.AST]]]:
    """The statements that only call a method of an object, the calls, and what follows in the block."""
    for statement, after in source.statements():
        if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
            if method(call) == name and re.search(on, receiver(call), re.IGNORECASE):
                yield statement, call, after


@_kind("scale", "`scaler.scale(loss).backward()` becomes `loss.backward()`", "AMP103", "AMP104", "AMP106")
def _unscaled_loss(source: Source) -> Places:
    for statement, call, _ in _called(source, "backward"):
        scaled = call.func.value if isinstance(call.func, ast.Attribute) else None
        if (
            isinstance(scaled, ast.Call)
            and method(scaled) == "scale"
            and re.search(SCALER, receiver(scaled), re.IGNORECASE)
        ):
            options = ", ".join(ast.unparse(one) for one in (*call.args, *call.keywords))
            loss = ast.unparse(scaled.args[0]) if len(scaled.args) == 1 else ""
            if loss.replace(".", "").isidentifier():
                yield statement.lineno, source.with_lines(statement, f"{loss}.backward({options})")


@_kind("step", "`scaler.step(optimizer)` becomes `optimizer.step()`", "AMP104")
def _plain_step(source: Source) -> Places:
    for statement, call, _ in _called(source, "step", SCALER):
        if len(call.args) == 1 and not isinstance(call.args[0], ast.Starred):
            yield statement.lineno, source.with_lines(statement, f"{ast.unparse(call.args[0])}.step()")


@_kind("unscale", "`unscale_` in front of a clip is taken out", "AMP101", "AMP102")
def _clip_of_scaled_gradients(source: Source) -> Places:
    for statement, _, _ in _called(source, "unscale_"):
        if any(_clips_after(statement, source)):
            yield statement.lineno, source.without(statement)


def _clips_after(statement: ast.stmt, source: Source) -> Iterator[ast.Call]:
    near = range(statement.lineno + 1, statement.lineno + 25)
    for node in ast.walk(source.function(statement)):
        if isinstance(node, ast.Call) and "clip_grad" in ast.unparse(node.func) and node.lineno in near:
            yield node


@_kind("read", "the largest gradient is printed in front of `unscale_`", "AMP102")
def _gradient_read_early(source: Source) -> Places:
    for statement, _, _ in _called(source, "unscale_"):
        clipped = [ast.unparse(one.args[0]) for one in _clips_after(statement, source) if one.args]
        parameters = next((one for one in clipped if re.fullmatch(r"[\w.]+\.parameters\(\)", one)), None)
        if parameters is not None:
            read = f"print(max(p.grad.abs().max() for p in {parameters} if p.grad is not None))"
            yield statement.lineno, source.with_lines(statement, read, ast.unparse(statement))


@_kind("twice", "`unscale_` is called twice", "AMP110", "AMP111")
def _unscaled_twice(source: Source) -> Places:
    for statement, _, _ in _called(source, "unscale_"):
        yield statement.lineno, source.with_lines(statement, *[ast.unparse(statement)] * 2)


@_kind("update", "`update` is taken out", "AMP105")
def _no_update(source: Source) -> Places:
    for statement, call, _ in _called(source, "update", SCALER):
        if not call.args and not call.keywords:
            yield statement.lineno, source.without(statement)


@_kind("updates", "`update` is called after each of several optimizers", "AMP109")
def _update_for_each(source: Source) -> Places:
    for statement, call, after in _called(source, "step", SCALER):
        scaler = receiver(call)
        follow = [method(one.value) for one in after if isinstance(one, ast.Expr) and receiver(one.value) == scaler]
        if "step" in follow and "update" in follow[follow.index("step") :]:
            yield statement.lineno, source.with_lines(statement, ast.unparse(statement), f"{scaler}.update()")


@_kind("anew", "the scaler is made in each epoch", "AMP113")
def _made_in_each_epoch(source: Source) -> Places:
    for statement, _ in source.statements():
        if not isinstance(statement, ast.Assign) or not re.search(r"\bGradScaler\(", ast.unparse(statement.value)):
            continue
        function = source.function(statement)
        uses = (*calls(function, "update", SCALER), *calls(function, "step", SCALER))
        outermost = [source.loops(use)[-1] for use in uses if source.function(use) is function and source.loops(use)]
        loop = next((one for one in outermost if one.lineno > statement.lineno), None)
        if isinstance(loop, ast.For) and not _used_between(statement, loop, function):
            first, last = span(statement)
            lines = [*source.lines[:first], " " * statement.col_offset + "pass", *source.lines[last:]]
            place = loop.body[0].lineno - 1 - (last - first - 1)
            lines.insert(place, " " * loop.body[0].col_offset + ast.unparse(statement))
            yield statement.lineno, "\n".join(lines)


def _used_between(made: ast.Assign, loop: ast.For, function: ast.AST) -> bool:
    """Whether a function uses what it makes before a loop begins."""
    name = ast.unparse(made.targets[0])
    between = range((made.end_lineno or made.lineno) + 1, loop.lineno)
    return any(
        isinstance(one, ast.expr) and one.lineno in between and ast.unparse(one) == name for one in ast.walk(function)
    )


@_kind("region", "the backward pass moves into the region", "AMP201")
def _backward_in_region(source: Source) -> Places:
    for region, after in _regions(source):
        following = next((one for one in after if not _is_call(one, "zero_grad")), None)
        if isinstance(following, ast.Expr) and _is_call(following, "backward"):
            columns = region.body[0].col_offset - region.col_offset
            text = "\n".join(source.shifted(span(region)[1], span(following)[1], columns))
            yield following.lineno, text


def _regions(source: Source) -> Iterator[tuple[ast.With, list[ast.AST]]]:
    for statement, after in source.statements():
        if isinstance(statement, ast.With) and len(statement.items) == 1:
            entered = ast.unparse(statement.items[0].context_expr)
            if "autocast" in entered and not re.search("False|bfloat16", entered):
                yield statement, after


def _is_call(statement: ast.AST | None, name: str) -> bool:
    return isinstance(statement, ast.Expr) and method(statement.value) == name


@_kind("evaluation", "the region around an evaluation is taken out", "AMP202")
def _evaluation_in_full_precision(source: Source) -> Places:
    for region, _ in _regions(source):
        function = source.function(region)
        columns = region.body[0].col_offset - region.col_offset
        evaluates = re.search("eval|valid|test|infer", getattr(function, "name", ""), re.IGNORECASE)
        if evaluates and columns > 0:
            body, last = region.body[0].lineno - 1, span(region)[1]
            lines = source.shifted(body, last, -columns)
            yield (
                region.lineno,
                "\n".join([*lines[: region.lineno - 1], *[""] * (body - region.lineno + 1), *lines[body:]]),
            )


@_kind("loss", "the loss is computed behind the region", "AMP211")
def _loss_of_half_outputs(source: Source) -> Places:
    for region, after in _regions(source):
        loss = region.body[-1]
        if len(region.body) < 2 or not isinstance(loss, ast.Assign) or not isinstance(loss.value, ast.Call):
            continue
        named = re.search("loss", ast.unparse(loss.targets[0]), re.IGNORECASE)
        if named and re.search("crit|loss|entropy", ast.unparse(loss.value.func), re.IGNORECASE):
            if any(True for one in after for _ in calls(one, "backward")):
                yield loss.lineno, "\n".join(source.shifted(*span(loss), region.col_offset - loss.col_offset))


@_kind("schedule", "a schedule of the epochs steps in each iteration", "AMP107")
def _schedule_of_iterations(source: Source) -> Places:
    for statement, call, _ in _called(source, "update", SCALER):
        loops = source.loops(statement)
        if call.args or call.keywords or not loops or any(True for _ in calls(loops[0], "step", SCHEDULE)):
            continue
        schedules = (one for one in calls(source.function(statement), "step", SCHEDULE) if not one.args)
        if (schedule := next(schedules, None)) is not None:
            yield statement.lineno, source.with_lines(statement, ast.unparse(statement), f"{receiver(schedule)}.step()")


@_kind("gate", "the test around a schedule is taken out", "AMP107")
def _schedule_without_test(source: Source) -> Places:
    for statement, _ in source.statements():
        if isinstance(statement, ast.If) and not statement.orelse and len(statement.body) == 1:
            step = statement.body[0]
            if _is_call(step, "step") and re.search("get_scale|skip|scale", ast.unparse(statement.test)):
                if isinstance(step, ast.Expr) and re.search(SCHEDULE, receiver(step.value), re.IGNORECASE):
                    yield statement.lineno, source.with_lines(statement, ast.unparse(step))


@_kind("checkpoint", "the scaler is taken out of a checkpoint", "AMP114")
def _scaler_not_saved(source: Source) -> Places:
    for statement, _ in source.statements():
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            beside = ast.walk(source.function(statement))
            if _is_state(statement.value, SCALER) and any(_is_state(node, "optim") for node in beside):
                yield statement.lineno, source.without(statement)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Dict) and any(_is_state(value, "opt") for value in node.values):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is not None and _is_state(value, SCALER) and key.lineno == value.end_lineno:
                    yield key.lineno, _without_entry(source, key, value)


def _is_state(node: ast.AST, of: str) -> bool:
    return method(node) == "state_dict" and re.search(of, receiver(node), re.IGNORECASE) is not None


def _without_entry(source: Source, key: ast.expr, value: ast.expr) -> str:
    """The text without an entry of a dict display that stands on one line."""
    row = key.lineno - 1
    before, behind = source.lines[row][: key.col_offset], source.lines[row][value.end_col_offset :]
    comma = re.match(r"\s*,", behind)
    line = before + behind[comma.end() :] if comma else re.sub(r",\s*$", "", before) + behind
    return "\n".join([*source.lines[:row], line, *source.lines[row + 1 :]])
