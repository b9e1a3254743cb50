"""The edits of AMP114's fix that load the scaler's state where the optimizer's is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Applicability, Edit
from amplint.model.records import frozen
from amplint.rule import File

from .call_edits import quoted
from .protocol_edits import inside, same_object
from .value_readers import is_label

_LOOPS = (cst.For, cst.While)


@frozen
class Load:
    """The load of an optimizer's state from an element of `holder`, which has that of `scaler` under `key`.

    `step` is a step of the scaler; `may_be_none` says that there may be no scaler.
    """

    call: cst.Call
    holder: cst.BaseExpression
    scaler: cst.BaseExpression
    step: cst.Call
    key: str
    may_be_none: bool


def restored(file: File, loads: Sequence[Load]) -> tuple[list[Edit], Applicability]:
    """The guarded load behind each load that the scaler can be named at, or made before; and how far that may be trusted.

    Safe, because it keeps what the file does with the checkpoints of today; not where a training loop goes back to a state.
    """
    edits: dict[Edit, None] = {}
    trust = SAFE
    for load in sorted(loads, key=lambda each: file.tree.order(each.call)):
        line = file.editor.statement(load.call)
        made = [] if is_in_reach(file, load.scaler, load.call) else _made_before(file, load)
        if made and made[-1] in edits:  # it is taken from its place to an earlier load already
            made = []
        if not isinstance(line, cst.SimpleStatementLine) or made is None or "(" in file.tree.text(load.holder):
            continue
        edits |= dict.fromkeys([*made, file.editor.insert_after(line, *_guarded(file, load))])
        loop = file.tree.enclosing(load.call, *_LOOPS)
        if loop is not None and loop in file.tree.ancestors(load.step):
            trust = UNSAFE
    return list(edits), trust


def _guarded(file: File, load: Load) -> tuple[str, str]:
    """The load of the scaler's state, if there is any: a disabled scaler has saved none, and an enabled one refuses that."""
    scaler, source, key = file.tree.text(load.scaler), file.tree.text(load.holder), quoted(file, load.key)
    test = f"{key} in {source}"
    if load.may_be_none:
        test = f"{scaler} is not None and {source}.get({key})"
    elif file.roles.of(load.scaler).enabled != "yes":
        test = f"{source}.get({key})"
    return f"if {test}:", f"{file.editor.unit}{scaler}.load_state_dict({source}[{key}])"


def is_in_reach(file: File, scaler: cst.BaseExpression, at: cst.CSTNode) -> bool:
    """Whether the scaler can be named at a place, and has been made there."""
    if not same_object(file, scaler, at) or isinstance(scaler, cst.Subscript):
        return False
    return all(_is_made_by_then(file, made, at) for made in file.roles.values(scaler))


def _is_made_by_then(file: File, made: cst.BaseExpression, at: cst.CSTNode) -> bool:
    """Whether a value has been assigned wherever a place is reached, as far as the calls in the file tell: a module and the
    constructor of an object run first, and where other functions are reached in one and the same, their order counts."""
    maker, home = file.tree.function(made), file.tree.function(at)
    if maker is home:
        return file.tree.order(made) < file.tree.order(at)
    making, reaching = _first_calls(file, maker, made), _first_calls(file, home, at)
    both = making.keys() & reaching.keys()
    if any(reaching[each] < making[each] for each in both):
        return False
    runs_first = maker is None or any(map(_is_constructor, making))
    return bool(both) or runs_first or any(each is maker for each in file.tree.ancestors(at))


def _first_calls(file: File, function: cst.CSTNode | None, within: cst.CSTNode) -> dict[cst.CSTNode | None, int]:
    """The functions that reach a place in one function, themselves or by what they call, each with the order of the first node
    that does; None stands for the module."""
    first: dict[cst.CSTNode | None, int] = {}
    waiting = [(function, within)]
    while waiting:
        home, at = waiting.pop()
        order = file.tree.order(at)
        if order < first.get(home, order + 1):
            first[home] = order
            waiting += [(file.tree.function(call), call) for call in _calls(file, home)]
    return first


def _calls(file: File, function: cst.CSTNode | None) -> list[cst.Call]:
    """The calls that run a function, by its name; those of its class for a constructor."""
    if _is_constructor(function):
        owner = file.tree.enclosing(function, cst.ClassDef)
        return file.flow.calls(owner.name.value) if isinstance(owner, cst.ClassDef) else []
    return file.flow.calls(function.name.value) if isinstance(function, cst.FunctionDef) else []


def _is_constructor(function: cst.CSTNode | None) -> TypeGuard[cst.FunctionDef]:
    return isinstance(function, cst.FunctionDef) and function.name.value == "__init__"


def _made_before(file: File, load: Load) -> list[Edit] | None:
    """The edits that make the scaler before the load that stands above it; None where something might change by that."""
    values = list(file.roles.values(load.scaler))
    line = file.editor.statement(values[0]) if len(values) == 1 else None
    block = file.editor.block(line) if line is not None else None
    target = file.editor.member_of(load.call, block) if block is not None else None
    if not isinstance(line, cst.SimpleStatementLine) or target is None or not isinstance(line.body[0], cst.Assign):
        return None
    assign, made = line.body[0], values[0]
    if assign.value is not made or file.tree.order(line) < file.tree.order(target) or not isinstance(made, cst.Call):
        return None
    if len(assign.targets) != 1 or not _means_the_same(file, made, target, line):
        return None
    if any(file.tree.text(use) == file.tree.text(load.scaler) for use in _between(file, target, line)):
        return None
    first, last = file.editor.first_row(line, over_blanks=False), file.editor.rows(line)[1]
    row = file.editor.first_row(target, over_blanks=False)
    start = file.source.line_starts[row - 1]
    apart = row > 1 and first > 1 and not file.source.line(row - 1).strip() and not file.source.line(first - 1).strip()
    text = file.editor.rows_text(first, last) + file.source.newline * apart
    return [Edit(start, start, text), file.editor.delete_rows(first, last)]


def _means_the_same(file: File, made: cst.Call, target: cst.CSTNode, line: cst.CSTNode) -> bool:
    """Whether a constructor, moved in front of `target`, would be called with the same: plain arguments that stay as they are."""
    between = [file.tree.text(each) for each in _between(file, target, line) if _is_target(file, each)]
    for node in inside(made):
        if isinstance(node, cst.Call) and node is not made or isinstance(node, (cst.Subscript, cst.Await)):
            return False
        if isinstance(node, cst.Name) and not is_label(file, node) and not file.is_bound(node.value, target):
            return False
        if isinstance(node, (cst.Name, cst.Attribute)) and file.tree.text(node) in between:
            return False
    return True


def _between(file: File, first: cst.CSTNode, last: cst.CSTNode) -> list[cst.Name | cst.Attribute]:
    """The names and attributes from one statement up to another one."""
    begin, end = file.tree.order(first), file.tree.order(last)
    nodes: list[cst.Name | cst.Attribute] = [*file.tree.find(cst.Name), *file.tree.find(cst.Attribute)]
    return [node for node in nodes if begin < file.tree.order(node) < end]


def _is_target(file: File, node: cst.CSTNode) -> bool:
    return isinstance(file.tree.parent(node), (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr))
