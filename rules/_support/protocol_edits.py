"""How the rules about the GradScaler protocol mend a loop: where its scaler has a name, and the edits that let it take part."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import Edit, NoFix
from amplint.model.events import Clip, Event, GradAccess
from amplint.rule import File, Found

from . import hazard_calls
from .call_edits import insert_arguments

_FUNCTIONS = (cst.FunctionDef, cst.Lambda)
_LOOPS = (cst.For, cst.While)
_LEAVING = (cst.Continue, cst.Break, cst.Return, cst.Raise)


# -- places --------------------------------------------------------------------------------------------------------------


def scaler_methods(file: File, name: str) -> list[cst.Attribute]:
    """All calls, in the whole file, of one method of any scaler: what is called."""
    roles = file.roles
    methods = [call.func for call in file.tree.find(cst.Call) if isinstance(call.func, cst.Attribute)]
    return [method for method in methods if method.attr.value == name and roles.of(method.value).role == "scaler"]


def while_enabled(found: Found) -> str:
    """What to add to an error that only an enabled scaler raises."""
    return " while the scaler is enabled" if found.scaler.made and found.scaler.enabled == "maybe" else ""


def fit_for_message(text: str, otherwise: str) -> str:
    """`text` if it is fit for a message: on one line, and short."""
    return text if "\n" not in text and "`" not in text and len(text) <= 50 else otherwise


def call_for_message(file: File, node: cst.CSTNode) -> str:
    """A call as a message shows it: a long one without its arguments."""
    callee = file.tree.text(node.func) if isinstance(node, cst.Call) else ""
    return fit_for_message(
        file.tree.text(node), f"{fit_for_message(callee, 'the call')}(...)" if callee else "the call"
    )


def inside(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node, and everything inside it."""
    yield node
    for child in node.children:
        yield from inside(child)


# -- names ---------------------------------------------------------------------------------------------------------------


def same_object(file: File, expression: cst.BaseExpression, at: cst.CSTNode) -> bool:
    """Whether an expression, copied to `at`, names the object that it names where it stands."""
    tree = file.tree
    together = tree.function(expression) is tree.function(at)
    if "[" in tree.text(expression):
        return together and tree.enclosing(expression, *_LOOPS) is tree.enclosing(at, *_LOOPS)
    root = expression
    while isinstance(root, cst.Attribute):
        root = root.value
    if not isinstance(root, cst.Name):
        return together
    if not file.is_bound(root.value, at):
        return False
    if together:
        return True
    if root.value == "self":
        here, there = file.classes.owner(at), file.classes.owner(expression)
        return here is not None and there is not None and (here in there.lineage or there in here.lineage)
    bindings = file.names.bindings(root.value, at)
    return bool(bindings) and bindings is file.names.bindings(root.value, expression)


NO_NAME = NoFix("which name the scaler has here is not clear")
MAY_BE_OFF = NoFix("AMP may be off here, and the scaler None")


def scaler_at(file: File, found: Found, at: cst.CSTNode, *kinds: type[Event]) -> cst.BaseExpression | None:
    """How the hazard's scaler may be written at `at`; None where it is out of reach. `kinds` are the events that name it."""
    for call in found.calls(*kinds):
        if isinstance(call.func, cst.Attribute) and same_object(file, call.func.value, at):
            return call.func.value
    return None


def always_made(file: File, found: Found, scaler: cst.BaseExpression) -> bool:
    """Whether the scaler exists on every path, also where AMP is off."""
    values = list(file.roles.values(scaler))
    conditions = [
        above
        for value in values
        for above in _inside_function(file, value)
        if isinstance(above, (cst.If, cst.Try, cst.Match))
    ]
    return found.scaler.made and all(_makes_either_way(file, condition, values) for condition in conditions)


def _makes_either_way(file: File, condition: cst.CSTNode, values: list[cst.BaseExpression]) -> bool:
    """Whether both sides of a condition, a test of the version say, assign one of these values."""
    if not isinstance(condition, cst.If) or condition.orelse is None:
        return False
    makers = {above for value in values for above in _inside_function(file, value)}
    return condition.body in makers and condition.orelse in makers


def _inside_function(file: File, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for above in file.tree.ancestors(node):
        if isinstance(above, _FUNCTIONS):
            return
        yield above


def amp_guards(file: File, node: cst.CSTNode, other: cst.CSTNode) -> list[cst.CSTNode]:
    """The branches around `node`, but not around `other`, that ask whether AMP is on."""
    common = hazard_calls.common_block(file, node, other)
    return [
        guard
        for guard in hazard_calls.guards(file, node, common or file.tree.module)
        if hazard_calls.asks_for_amp(file, guard)
    ]


# -- edits ---------------------------------------------------------------------------------------------------------------


def scale_loss(file: File, backward: cst.Call, scaler: str) -> list[Edit] | None:
    """Turn `loss.backward()` into `scaler.scale(loss).backward()`; None for another way to run backward."""
    if not isinstance(backward.func, cst.Attribute) or file.names.any_in(backward.func, {"torch.autograd.backward"}):
        return None
    loss = backward.func.value
    parentheses = file.tree.as_written(loss).lpar
    start, end = file.tree.span(backward.func)[0], file.tree.span(loss)[1]
    if len(parentheses) > 1:
        return None
    if parentheses:
        return [Edit(start, start, f"{scaler}.scale")]
    return [Edit(start, start, f"{scaler}.scale("), Edit(end, end, ")")]


def step_through(file: File, step: cst.Call, scaler: str) -> list[Edit]:
    """Turn `optimizer.step()` into `scaler.step(optimizer)`; comments in its parentheses stay."""
    return [
        file.editor.replace(step.func, f"{scaler}.step"),
        *insert_arguments(file, step, [hazard_calls.base_text(file, step)], ()),
    ]


def is_left_between(file: File, place: cst.CSTNode, step: cst.CSTNode) -> bool:
    """Whether a `continue`, `break`, `return` or `raise` between two places leaves the iteration without an `update`: an
    `unscale_` at the first would keep the one of the next iteration from running."""
    home, start, end = file.tree.function(step), file.tree.span(place), file.tree.span(step)
    updates = [each for each in scaler_methods(file, "update") if file.tree.function(each) is home]
    around = {*file.tree.ancestors(step)}
    for leaving in (node for kind in _LEAVING for node in file.tree.find(kind)):
        if file.tree.function(leaving) is home and start < file.tree.span(leaving) < end:
            leaves = isinstance(leaving, cst.Return) or file.tree.enclosing(leaving, *_left_by(leaving)) in around
            block = file.tree.enclosing(leaving, cst.IndentedBlock)
            if leaves and not any(hazard_calls.holds(file, block, each) for each in updates):
                return True
    return False


def asked_only_there(file: File, there: cst.CSTNode, here: cst.CSTNode) -> set[str]:
    """The conditions, as they are written, under which a call runs, and another one in its function does not stand."""
    asked = [
        {file.tree.text(above.test) for above in file.tree.ancestors(each) if isinstance(above, cst.If)}
        for each in (there, here)
    ]
    return asked[0] - asked[1]


def _left_by(leaving: cst.CSTNode) -> tuple[type[cst.CSTNode], ...]:
    """What a jump leaves: a loop, or, where it raises, the body of a `try`."""
    return (cst.Try,) if isinstance(leaving, cst.Raise) else _LOOPS


def unscale_before_readers(file: File, found: Found, step: cst.Call, scaler: str, optimizer: str) -> list[Edit] | None:
    """`unscale_` before the first clip, or other use of the gradients, between the backward pass and the step; [] without any.

    None where one stands in another function, may run more often than the step does, or where the iteration may end between the
    two: a second `unscale_` would raise.
    """
    home = file.tree.function(step)
    together = file.tree.function(found.node) is home
    after = file.tree.span(found.node) if together else (0, 0)
    readers = [node for _, node in found.events(Clip, GradAccess)]
    if not all(file.tree.function(node) is home for node in readers):
        return None
    between = [node for node in readers if after < file.tree.span(node) < file.tree.span(step)]
    if not between:
        return []
    first = min(between, key=file.tree.span)
    line = file.editor.statement(step)
    block = file.editor.block(line) if line is not None else None
    if block is None or hazard_calls.common_block(file, first, step) is not block:
        return None
    clip = file.editor.statement(hazard_calls.before_loops(file, first, block))
    if clip is None or clip in file.tree.ancestors(found.node) or is_left_between(file, clip, step):
        return None
    return [file.editor.insert_before(clip, f"{scaler}.unscale_({optimizer})")]


def without(file: File, line: cst.SimpleStatementLine) -> Edit:
    """Delete a statement; a comment behind it keeps its row, and those in it get rows of their own."""
    written = file.tree.as_written(line)
    comments = [node.value for node in inside(written.body[0]) if isinstance(node, cst.Comment)]
    start, end = file.tree.span(line.body[0])
    if written.trailing_whitespace.comment is not None:
        end = file.source.text.index("#", end)
        comments.append("")
    if not comments:
        return file.editor.delete(line)
    return Edit(start, end, f"{file.source.newline}{file.editor.indent(line)}".join(comments))


def merged(*edits: Edit) -> tuple[Edit, ...]:
    """Edits in order; insertions at one place become one."""
    done: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        last = done[-1] if done else None
        if last is not None and last.start == last.end == edit.start == edit.end:
            done[-1] = Edit(edit.start, edit.end, last.replacement + edit.replacement)
        else:
            done.append(edit)
    return tuple(done)
