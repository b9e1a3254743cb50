"""What names hold: losses, scaled or not, in half precision or not, and what else is computed from them."""

from __future__ import annotations

from amplint.model.events import Assign, Region, Scale
from amplint.model.protocol.contents import PERHAPS, SURELY, UNKNOWN_SCALER, Truth, Value
from amplint.model.protocol.path_state import PathFacts, PathState
from amplint.model.references import key_of, reference


def after_assignment(state: PathState, event: Assign) -> PathState:
    """The state once a name has got a value, or a truth.

    Args:
        state: the state before.
        event: the assignment.
    """
    state = state.with_protocol(state.protocol.naming_another(event.target, event.handed_back))
    facts, protocol = state.facts, state.protocol
    if event.truth is not None:
        truths = facts.truths.put(key_of(event.target), Truth(event.truth, after_step=event.after_step))
        return state.knowing(values=facts.values.put(event.target, None), truths=truths)
    carried, given = ([_operand(facts, name) for name in names] for names in (event.carried, event.args))
    operands = [value for value in (*carried, *given) if value is not None]
    half = max((_half_of(value, value in carried) for value in operands), default=0)
    derived = any(value.derived for value in operands) or any(value is not None and value.is_scaled for value in given)
    if event.computes and protocol.active_region is not None and protocol.records_graph:
        half = max(half, _in_float16(protocol.active_region.region))
    scalers = {_scaler_in(value, name, event.computes) for value, name in zip(carried, event.carried)}
    known = min(scalers - {"", UNKNOWN_SCALER}, default=None)
    unknown = derived or UNKNOWN_SCALER in scalers or not (event.computes or event.carried)
    scaler = known or (UNKNOWN_SCALER if unknown else "")
    half = half if protocol.records_graph and not event.leaf else 0
    value = Value(scaler, half, derived, event.number is not None)
    truths = facts.truths.put(key_of(event.target), Truth(True)) if event.present else facts.truths
    return state.knowing(values=facts.values.put(event.target, value), truths=truths)


def after_scaling(state: PathState, event: Scale) -> PathState:
    """The state once a scaler has scaled a value.

    Args:
        state: the state before.
        event: the call of `scale`.
    """
    source = state.facts.value(event.source)
    value = Value(event.scaler or UNKNOWN_SCALER, source.half if source is not None else 0)
    return state.knowing(values=state.facts.values.put(event.target, value))


def _half_of(value: Value, carried: bool) -> int:
    """How an operand makes a result half: a call may be given what was detached, or made float32."""
    return value.half if carried else min(value.half, PERHAPS)


def _in_float16(region: Region) -> int:
    """Whether what is computed in a region runs in float16."""
    if not region.may_be_float16:
        return 0
    return SURELY if region.enabled == "yes" and region.dtype == "float16" else PERHAPS


def _operand(facts: PathFacts, name: str) -> Value | None:
    """What is known of an operand; a gradient that was not seen to be computed is one of unknown scale."""
    if not reference(name).is_gradient:
        return facts.value(name)
    return facts.values.get(name) or Value(UNKNOWN_SCALER, derived=True)


def _scaler_in(value: Value | None, name: str, computes: bool) -> str:
    """The scaler in an operand; one that was never seen to be computed counts as scaled, perhaps, if it may be a loss."""
    if value is not None:
        return "" if value.number and computes else value.scaler
    return "" if computes and not reference(name).may_be_loss else UNKNOWN_SCALER
