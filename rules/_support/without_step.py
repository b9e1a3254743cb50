"""Whether a call of the protocol runs in iterations that do not step."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.model.events import ScalerStep, Unscale
from amplint.model.protocol.hazard import RAISES, HazardKind
from amplint.rule import File, Found

from . import hazard_calls

_MAX_CALLERS = 3
"""From a helper to the function that calls it, and so on, so many times."""


def unscaled_early(file: File) -> Iterator[Found]:
    """The calls of `unscale_` that run before all gradients are accumulated, as far as the text shows it.

    Args:
        file: the file.
    """
    for found in file.analysis.of(HazardKind.UNSCALE_IN_ACCUMULATION, elsewhere=True):
        if runs_without_step(file, found):
            yield found


def runs_without_step(file: File, found: Found) -> bool:
    """Whether the text shows that the hazard's call runs in iterations that do not step.

    Two conditions may agree in a way that the text does not show: nothing that changes between iterations may guard the call
    but not the step. What an exception leads to is no iteration.
    """
    calls = (found.node, found.origin) if found.origin is not None else (found.node,)
    return all(_runs_without_step(file, found, call) for call in calls)


def _runs_without_step(file: File, found: Found, call: cst.CSTNode, callers: int = _MAX_CALLERS) -> bool:
    if file.tree.enclosing(call, cst.ExceptHandler) is not None:
        return False
    if call is found.node and (_follows_the_first_pass(file, found) or _leaves_out_every_step(file, found)):
        return True
    home = file.tree.function(call)
    steps = found.calls(ScalerStep)
    here = [there for step in steps for there in _leading_to(file, step, home)]
    if steps and not here and callers and isinstance(home, cst.FunctionDef) and (led := file.flow.calls_of(home)):
        inside = hazard_calls.guards(file, call, home)
        led = [] if any(hazard_calls.varies(file, guard) for guard in inside) else led
        return any(_runs_without_step(file, found, each, callers - 1) for each in led)
    around = file.tree.enclosing(call, cst.For, cst.While, cst.FunctionDef, cst.Lambda) or file.tree.module
    blocks = [hazard_calls.common_block(file, call, step) for step in here] or [around]
    guards = [guard for block in blocks if block is not None for guard in hazard_calls.guards(file, call, block)]
    guards += [test for step in here for test in _exits_between(file, step, call)]
    if callers < _MAX_CALLERS:  # what goes wrong around the call of a helper is no rhythm of micro-batches
        guards = [guard for guard in guards if not isinstance(guard, cst.Try)]
    inside_try = any(isinstance(guard, cst.Try) for step in here for guard in _guards_of(file, step, call))
    return bool(steps) and not inside_try and not any(hazard_calls.varies(file, guard) for guard in guards)


def _leading_to(file: File, call: cst.Call, home: cst.CSTNode | None, callers: int = _MAX_CALLERS) -> list[cst.Call]:
    """The call itself, if it stands in a function, or the calls in that function which lead to it."""
    function = file.tree.function(call)
    if function is home:
        return [call]
    led = file.flow.calls_of(function) if callers and isinstance(function, cst.FunctionDef) else []
    return [there for each in led for there in _leading_to(file, each, home, callers - 1)]


def _exits_between(file: File, step: cst.CSTNode, call: cst.CSTNode) -> list[cst.CSTNode]:
    """The branches between a step and a call that end the iteration before the call (`if not due: continue`)."""
    around = {*file.tree.ancestors(call)}
    first, last = file.tree.span(step)[1], file.tree.span(call)[0]
    return [
        branch
        for branch in file.tree.find(cst.If)
        if first <= file.tree.span(branch)[0] and file.tree.span(branch)[1] <= last
        if file.tree.parent(branch) in around and (_jumps_away(branch.body) or _jumps_away(branch.orelse))
    ]


def _follows_the_first_pass(file: File, found: Found) -> bool:
    """Whether a call always comes right after the backward pass, and the text has unscaled and stepped nothing before."""
    backward = found.related.get("backward")
    block = hazard_calls.common_block(file, found.node, backward) if backward is not None else None
    if backward is None or block is None or RAISES not in found.hazard.details:
        return False
    if hazard_calls.guards(file, found.node, block) or hazard_calls.guards(file, backward, block):
        return False
    if _exits_between(file, backward, found.node):
        return False
    row = file.range(backward).start.row
    return all(file.range(call).start.row > row for call in (*found.calls(ScalerStep), *found.calls(Unscale)))


def _leaves_out_every_step(file: File, found: Found) -> bool:
    """Whether a call stands in a branch of iterations that do not step, in a text that calls no `unscale_`."""
    steps = found.calls(ScalerStep)
    raises = RAISES in found.hazard.details and not found.calls(Unscale)
    return raises and bool(steps) and all(_is_left_out(file, step, found.node) for step in steps)


def _is_left_out(file: File, step: cst.CSTNode, call: cst.CSTNode) -> bool:
    """Whether a branch around a call keeps what runs it from a step: on its other side, or behind a branch that jumps away."""
    loop = file.tree.enclosing(call, cst.For, cst.While, cst.FunctionDef)
    for branch in file.tree.ancestors(call):
        if branch is loop:
            break
        if isinstance(branch, cst.If):
            sides: tuple[cst.CSTNode | None, ...] = (branch.body, branch.orelse)
            side, other = sides if hazard_calls.holds(file, branch.body, call) else sides[::-1]
            behind = file.tree.span(branch)[1] <= file.tree.span(step)[0]
            if hazard_calls.holds(file, other, step) or (behind and _jumps_away(side)):
                return file.tree.enclosing(step, cst.For, cst.While, cst.FunctionDef) is loop
    return False


def _jumps_away(side: cst.CSTNode | None) -> bool:
    """Whether a side of a branch ends the iteration."""
    body = side.body if isinstance(side, cst.Else) else side
    last = body.body[-1] if isinstance(body, cst.IndentedBlock) and body.body else None
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], (cst.Continue, cst.Return))


def _guards_of(file: File, step: cst.Call, call: cst.CSTNode) -> list[cst.CSTNode]:
    block = hazard_calls.common_block(file, step, call)
    return hazard_calls.guards(file, step, block) if block is not None else []
