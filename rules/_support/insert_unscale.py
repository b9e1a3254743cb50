"""`unscale_` where it belongs: before the first use of the scaled gradients of an iteration, once for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import libcst as cst

from amplint.diagnostics import SAFE, Applicability, Edit, Fix, NoFix
from amplint.model.events import OptimizerStep, Scale, ScalerStep, ScalerUpdate, Unscale
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import NOBODY_UNSCALES, File, Found, Statement

from . import hazard_calls, protocol_edits
from .other_scalers import may_lack

KINDS = (HazardKind.CLIP_BEFORE_UNSCALE, HazardKind.GRAD_READ_BEFORE_UNSCALE)
"""The uses of gradients that an `unscale_` must come before."""
SHOWN_LATE = {"step": "what was scaled is unscaled only here", "unscaled": "what was scaled is unscaled only here"}
"""The other half of a use of gradients whose backward pass is not in sight, by label."""
_OTHER_TIMES = "the optimizer does not step whenever this line runs"


def repair(file: File, found: Found, what: str, applicability: Applicability = SAFE) -> Fix | NoFix:
    """`unscale_` before the first use, unless it could raise, or has no name for its objects. `what` names the use."""
    if found.hazard.is_shown_late:
        return NoFix("the backward pass is not in sight, and `unscale_` belongs behind the last one")
    if not found.here or found.is_half:
        return NoFix("a part of the defect is in another file")
    step, scaler, optimizer = _spelled(file, found)
    users = file.fact(_Uses).beside(found)
    block = hazard_calls.common_block(file, users.first, step) if step is not None else None
    if step is None or not found.hazard.optimizer:
        return NoFix("which optimizer the gradients belong to is not clear")
    if block is None:
        return NoFix(_OTHER_TIMES)
    if unlike := _unlike_step(file, found, step, block):
        return NoFix(unlike)
    lacking = may_lack(file, hazard_calls.receiver(step) or step, "unscale_")
    if lacking is not None:
        return lacking
    target = _target(file, users, block)
    if target is None or target in file.tree.ancestors(found.related["scaled"]):
        return NoFix(f"no statement before {what} has room for `unscale_`")
    calls = found.calls_at_home(Unscale)
    others = _beside(file, calls, found.node)
    wanted = found.hazard.scaler, found.hazard.optimizer
    all_ = [node for event, node in found.events(Unscale) if (event.scaler, event.optimizer) == wanted]
    if not set(calls).issuperset(all_):
        return NoFix("another function calls `unscale_`, and a second call would raise")
    late = [call for call in others if file.tree.span(call) > file.tree.span(target)]
    if any(_is_between(file, found.related["scaled"], call, target) for call in others):
        return NoFix("on some path `unscale_` has run already, and a second call would raise")
    call = f"{scaler}.unscale_({optimizer})"
    test = _asked(file, found, step, block)
    late = late or _too_early(file, found, others)
    if not late and protocol_edits.is_left_between(file, target, step):
        return NoFix("the iteration may end before `update`, and the next `unscale_` would raise")
    if not late:
        lines = (f"if {test}:", f"{file.editor.unit}{call}") if test else (call,)
        insertion = file.editor.insert_before(target, *lines)
        return Fix(f"Add `{call}` before {what}", (insertion,), applicability)
    edits = _moved(file, late, target)
    if not edits:
        return NoFix("the `unscale_` that is there cannot be moved, and a second call would raise")
    return Fix(f"Move `{call}` before {what}", edits, applicability)


def needs(found: Found) -> frozenset[str]:
    """What a finding needs that a step shows alone: that nobody else in the project unscales what its scaler has scaled."""
    return frozenset({NOBODY_UNSCALES} if found.hazard.is_shown_late and "step" in found.related else ())


def _spelled(file: File, found: Found) -> tuple[cst.Call | None, str, str]:
    """The step that takes the gradients, and how scaler and optimizer are written there."""
    step = hazard_calls.only(_beside(file, found.calls_at_home(ScalerStep), found.node))
    if step is not None:
        return step, hazard_calls.base_text(file, step), hazard_calls.argument_text(file, step)
    step = hazard_calls.only(_beside(file, found.calls_at_home(OptimizerStep), found.node))
    scale = next(iter(found.calls_at_home(Scale)), None)
    if step is None or scale is None:
        return None, "", ""
    return step, hazard_calls.base_text(file, scale), hazard_calls.base_text(file, step)


_Sides = tuple[tuple[cst.CSTNode, cst.CSTNode], ...]
"""The branches around a place, each with the part of it that the place is in."""


class _Users:
    """The uses of the same gradients that may happen in one iteration: they share an `unscale_`.

    Args:
        file: the file.
        found: one of them.
        nodes: all of them.
    """

    def __init__(self, file: File, found: Found, nodes: Sequence[cst.CSTNode]) -> None:
        self._file, self._found, self.nodes = file, found, nodes
        self.first = min(nodes, key=file.tree.span)

    @cached_property
    def block(self) -> cst.CSTNode | None:
        """The innermost block that holds all of them."""
        return _common_block(self._file, self.nodes)

    @cached_property
    def reading(self) -> cst.CSTNode | None:
        """Where the gradients are looked at before the first of them."""
        return _first_reading(self._file, self._found, self.first)


class _Uses:
    """All uses of scaled gradients in a file, by the gradients that they use and the branches around them."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._nodes: dict[object, dict[_Sides, list[cst.CSTNode]]] = {}
        self._users: dict[object, _Users] = {}
        for kind in KINDS:
            for found in file.analysis.of(kind, elsewhere=True):
                alike = self._nodes.setdefault(self._gradients(found), {})
                alike.setdefault(self._file.tree.sides(found.node), []).append(found.node)

    def beside(self, found: Found) -> _Users:
        """The uses of the same gradients that may happen in one iteration with this one."""
        gradients, sides = self._gradients(found), self._file.tree.sides(found.node)
        if (gradients, sides) not in self._users:
            alike = self._nodes[gradients]
            nodes = [node for each in alike if not _exclude_each_other(each, sides) for node in alike[each]]
            self._users[gradients, sides] = _Users(self._file, found, nodes)
        return self._users[gradients, sides]

    def _gradients(self, found: Found) -> object:
        home = self._file.tree.enclosing(found.node, cst.FunctionDef)
        return found.hazard.scaler, found.hazard.optimizer, found.hazard.at("scaled"), home


def _beside(file: File, calls: list[cst.Call], use: cst.CSTNode) -> list[cst.Call]:
    """The calls that may run in one iteration with a use: none on another side of a branch around it."""
    return [call for call in calls if not file.tree.exclude_each_other(call, use)]


def _exclude_each_other(one: _Sides, other: _Sides) -> bool:
    """Whether two places are on different sides of a branch."""
    parts = dict(one)
    return any(parts.get(branch, part) is not part for branch, part in other)


def _target(file: File, users: _Users, block: cst.CSTNode) -> Statement | None:
    """The statement to unscale before; `block` holds the first use and the step."""
    if users.reading is not None:
        return file.editor.member_of(users.reading, block)
    within = block if users.block is None or users.block in file.tree.ancestors(block) else users.block
    anchor = users.first if len(users.nodes) == 1 else file.editor.member_of(users.first, within)
    return file.editor.statement(hazard_calls.before_loops(file, anchor, block)) if anchor is not None else None


def _common_block(file: File, nodes: Sequence[cst.CSTNode]) -> cst.CSTNode | None:
    """The innermost block that holds all of the nodes."""
    around = [above for above in file.tree.ancestors(nodes[0]) if isinstance(above, (cst.IndentedBlock, cst.Module))]
    others = [set(file.tree.ancestors(node)) for node in nodes[1:]]
    return next((block for block in around if all(block in other for other in others)), None)


def _first_reading(file: File, found: Found, user: cst.CSTNode) -> cst.CSTNode | None:
    """Where gradients are first looked at between backward pass and first use: whatever is found there must be true, too."""
    home = file.tree.enclosing(user, cst.FunctionDef)
    after, before = file.tree.span(found.related["scaled"]), file.tree.span(user)
    readings = [
        node
        for node in file.tree.find(cst.Attribute)
        if node.attr.value == "grad" and file.tree.enclosing(node, cst.FunctionDef) is home
        if after < file.tree.span(node) < before
    ]
    return min(readings, key=file.tree.span, default=None)


def _asked(file: File, found: Found, step: cst.Call, block: cst.CSTNode) -> str:
    """What the author asks before the step of a scaler that is switched on either way, whose `unscale_` would raise elsewhere."""
    tests = [guard.test for guard in hazard_calls.guards(file, step, block) if isinstance(guard, cst.If)]
    return file.tree.text(tests[0]) if len(tests) == 1 and found.scaler.enabled == "yes" else ""


def _unlike_step(file: File, found: Found, step: cst.Call, block: cst.CSTNode) -> str:
    """Why `unscale_` cannot go with the use; empty where the step runs whenever the use does, or is guarded by the question of
    AMP, and the scaler exists anyway."""
    guards = hazard_calls.guards(file, step, block)
    if not guards:
        return ""
    assert isinstance(step.func, cst.Attribute)
    plain = found.scaler.enabled != "yes" or (len(guards) == 1 and isinstance(guards[0], cst.If))
    if not plain or not all(hazard_calls.asks_for_amp(file, guard) for guard in guards):
        return _OTHER_TIMES
    always = protocol_edits.always_made(file, found, step.func.value)
    return "" if always else protocol_edits.MAY_BE_OFF.reason


def _is_between(file: File, scaled: cst.CSTNode, call: cst.Call, target: Statement) -> bool:
    """Whether an `unscale_` that other paths take stands before the place for the new one."""
    return file.tree.span(scaled) < file.tree.span(call) < file.tree.span(target)


def _too_early(file: File, found: Found, calls: list[cst.Call]) -> list[cst.Call]:
    """Those calls of `unscale_` that run before the backward pass, with no `update` in between: they find no gradients."""
    scaled = file.tree.span(found.related["scaled"])
    updates = [file.tree.span(update) for update in found.calls_at_home(ScalerUpdate)]
    before = [call for call in calls if file.tree.span(call) < scaled]
    return [call for call in before if not any(file.tree.span(call) < update < scaled for update in updates)]


def _moved(file: File, misplaced: list[cst.Call], target: Statement) -> tuple[Edit, ...]:
    """The edits that bring an `unscale_` to its place; none where it is not one plain statement."""
    statement = file.editor.statement(misplaced[0])
    if len(misplaced) > 1 or not isinstance(statement, cst.SimpleStatementLine):
        return ()
    block = file.editor.block(statement)
    anchor = file.editor.member_of(target, block) if block is not None else None
    anchor = target if block is file.editor.block(target) else anchor
    if anchor is not None:
        return tuple(sorted(file.editor.move_before(statement, anchor)))
    if len(file.editor.siblings(statement)) == 1:
        return ()
    return tuple(sorted(file.editor.move_before(statement, target)))
