"""The fix of AMP107: the scheduler steps only if the scale did not fall from before the optimizer step to after `update`."""

from __future__ import annotations

import re

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Fix, NoFix
from amplint.model import vocabulary
from amplint.model.events import ScalerStep, ScalerUpdate
from amplint.rule import File, Found, Statement

from . import hazard_calls, protocol_edits
from .other_scalers import may_lack
from .scheduler_gate_edits import GatePlace, gated, is_alone, moved_over
from .ungated_schedules import UngatedSchedules, line_of

_NOTED = "scale_before"
_READS_RATE = re.compile(r"get_last_lr|param_groups|\blr\b")


def has_gate(file: File, call: cst.CSTNode) -> bool:
    """Whether the scheduler already stands under a test that asks for the scale, or for a skip."""
    tests = (above.test for above in file.tree.ancestors(call) if isinstance(above, cst.If))
    return any(vocabulary.asks_for_step(file.tree.text(test)) for test in tests)


def gate(file: File, found: Found) -> Fix | NoFix | None:
    """The gate around a scheduler, and around its neighbours that need the same one; None where it has no sure place."""
    place = _place(file, found)
    return file.fact(_Gates).at(place, found) if place is not None else None


class _Gates:
    """The gates in a file: neighbours share one, which is worked out once."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._made: dict[object, Fix | NoFix | None] = {}

    def at(self, place: GatePlace, found: Found) -> Fix | NoFix | None:
        """The gate at a place; None where it is not sure.

        Args:
            place: the place.
            found: a scheduler there.
        """
        shared = place.first, found.hazard.scaler, found.hazard.optimizer, found.related.get("step"), found.shown
        if shared not in self._made:
            self._made[shared] = _gate(self._file, found, place)
        return self._made[shared]


def _gate(file: File, found: Found, place: GatePlace) -> Fix | NoFix | None:
    step = _first_step(file, found, place)
    if step is None or has_gate(file, found.node):
        return None
    update = _update(file, found, step, place)
    block = hazard_calls.common_block(file, step, place.first)
    anchor = file.editor.member_of(step, block) if block is not None else None
    if update is None or block is None or anchor is None or not is_alone(anchor):
        return None
    conditional = bool(hazard_calls.guards(file, step, block))
    if anchor in place.statements or (conditional and not _always_made(file, found, step)):
        return None
    lacking = may_lack(file, hazard_calls.receiver(step) or step, "get_scale")
    if lacking is not None:
        return lacking
    scaler = hazard_calls.base_text(file, step)
    anchor = _shared_anchor(file, found, anchor)
    noted = _noted_before(file, found, scaler, anchor, update)
    name = noted or file.editor.fresh(_NOTED)
    edits = gated(file, place, update, f"{scaler}.get_scale() >= {name}")
    if edits is None:
        return None
    if not noted:
        edits.append(file.editor.insert_before(anchor, f"{name} = {scaler}.get_scale()"))
    unsafe = conditional or place.in_loop or _several(file, found) or _rate_is_readbetween(file, place, update)
    trust = UNSAFE if unsafe else SAFE
    return Fix(f"Step the scheduler only if the scale of `{scaler}` did not fall", tuple(sorted(edits)), trust)


# -- finding -------------------------------------------------------------------------------------------------------------


def _home(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    return file.tree.function(node)


def _always_made(file: File, found: Found, step: cst.CSTNode) -> bool:
    """Whether the scaler that takes a step exists also on the paths that do not take it."""
    assert isinstance(step, cst.Call) and isinstance(step.func, cst.Attribute)
    return protocol_edits.always_made(file, found, step.func.value)


def _place(file: File, found: Found) -> GatePlace | None:
    line = line_of(file, found.node)
    if isinstance(line, cst.SimpleStatementSuite):
        condition = file.tree.parent(line)
        return (
            GatePlace((condition,), condition) if isinstance(condition, cst.If) and condition.orelse is None else None
        )
    if not isinstance(line, cst.SimpleStatementLine):
        return None
    unit: Statement = line
    while isinstance(loop := _holder(file, unit), cst.For) and loop.orelse is None:
        unit = loop
    condition = _holder(file, unit)
    if isinstance(condition, cst.If) and condition.orelse is None:
        return GatePlace((condition,), condition, unit is not line)
    return GatePlace(file.fact(UngatedSchedules).run(line) if unit is line else (unit,), in_loop=unit is not line)


def _holder(file: File, statement: Statement) -> cst.CSTNode | None:
    """The statement whose whole body another one is."""
    block = file.tree.parent(statement)
    return file.tree.parent(block) if isinstance(block, cst.IndentedBlock) and len(block.body) == 1 else None


def _first_step(file: File, found: Found, place: GatePlace) -> cst.Call | None:
    """The first optimizer step that the schedulers at this place follow, if it stands in their function."""
    lines = dict.fromkeys((line_of(file, found.node), *place.statements))
    steps = file.fact(UngatedSchedules).steps(filter(None, lines))
    calls = [step for step in steps if isinstance(step, cst.Call) and isinstance(step.func, cst.Attribute)]
    if len(calls) < len(steps) or any(_home(file, call) is not _home(file, found.node) for call in calls):
        return None
    first = min(calls, key=file.tree.span)
    return first if file.tree.span(first) < file.tree.span(place.first) else None


def _update(file: File, found: Found, step: cst.Call, place: GatePlace) -> cst.Call | None:
    """The only `update` between the step and the scheduler, or else the next one."""
    span = file.tree.span
    later = [call for call in found.calls_at_home(ScalerUpdate) if span(call) > span(step)]
    between = [call for call in later if span(call) < span(place.first)]
    return None if len(between) > 1 else next(iter(between or later), None)


def _shared_anchor(file: File, found: Found, anchor: Statement) -> Statement:
    """The first step that leads to the same `update` as the one at `anchor`: one note of the scale serves all schedulers."""
    siblings, block = list(file.editor.siblings(anchor)), file.editor.block(anchor)
    if block is None:
        return anchor
    updates = {file.editor.member_of(call, block) for call in found.calls_at_home(ScalerUpdate)}
    steps = file.fact(UngatedSchedules).members(found.hazard.scaler, block)
    first = anchor
    for statement in reversed(siblings[: siblings.index(anchor)]):
        if statement in updates:
            break
        if isinstance(statement, cst.SimpleStatementLine) and statement in steps and is_alone(statement):
            first = statement
    return first


def _noted_before(file: File, found: Found, scaler: str, anchor: Statement, update: cst.Call) -> str | None:
    """A name that already holds the scale from before this `update`."""
    block = file.editor.block(anchor)
    end = file.editor.member_of(update, block) if block is not None else None
    if block is None or end is None:
        return None
    updates = {file.editor.member_of(call, block) for call in found.calls_at_home(ScalerUpdate)}
    noted: str | None = None
    for statement in file.editor.siblings(anchor):
        if statement is end:
            break
        noted = _notes_scale(file, statement, scaler) or (None if statement in updates else noted)
    return noted


def _notes_scale(file: File, statement: cst.CSTNode, scaler: str) -> str | None:
    """The name to which a statement assigns the scale, if nothing else is ever assigned to it."""
    match statement:
        case cst.SimpleStatementLine(
            body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name() as name)], value=value)]
        ):
            lone = len(file.names.bindings(name.value, name)) == 1
            return name.value if lone and file.tree.text(value) == f"{scaler}.get_scale()" else None
    return None


def _several(file: File, found: Found) -> bool:
    """Whether the scaler steps several optimizers in this function, or several schedulers advance in it."""
    home, scaler = _home(file, found.node), found.hazard.scaler
    own = [each for each, node in found.events(ScalerStep) if each.scaler == scaler and _home(file, node) is home]
    return len({event.optimizer for event in own}) > 1 or file.fact(UngatedSchedules).are_several(home)


def _rate_is_readbetween(file: File, place: GatePlace, update: cst.Call) -> bool:
    return any(_READS_RATE.search(file.tree.text(statement)) for statement in moved_over(file, place, update))
