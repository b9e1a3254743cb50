"""Checkpoints that hold the state of a scaler, and give back that of its optimizer alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

import libcst as cst

from amplint.facts.optimizer_checkpoints import SavedState
from amplint.facts.restoring_helpers import RestoringHelpers
from amplint.facts.scaler_checkpoints import ScalerStates
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.roles.step_pairs import StepPair, Steppers
from amplint.syntax.access_paths import called_name, elements, literal_key, path_of
from amplint.syntax.nodes import within
from amplint.syntax.tree import Tree
from amplint.syntax.value_flow import ValueFlow

_INHERITED = re.compile(rf"super\([^()]*\)\s*\.\w*(?:{vocabulary.LOADS.pattern})", re.IGNORECASE)


@frozen
class Unrestored:
    """The load of an optimizer's state from a checkpoint that holds the state of its scaler, too.

    `call` is the load, `holder` what it reads from (None where a function of another file loads), `key` that of the scaler's
    state, and `saved` where that is put.
    """

    call: cst.Call
    holder: cst.BaseExpression | None
    pair: StepPair
    key: str
    saved: cst.CSTNode


def unrestored(
    tree: Tree, states: Iterable[SavedState], scalers: ScalerStates, steppers: Steppers, helpers: RestoringHelpers
) -> Iterator[Unrestored]:
    """All of one file, if nothing in it may load the state of a scaler.

    Args:
        tree: the file.
        states: the states of optimizers that checkpoints hold.
        scalers: where the states of scalers are saved and loaded.
        steppers: which optimizers are stepped through a scaler.
        helpers: which functions of other files load.
    """
    states = [*states]
    if scalers.loads_scaler or _loads_whatever(tree, scalers, frozenset(state.key for state in states)):
        return
    for state in states:
        pair = steppers.of(state.optimizer)
        beside = _beside(steppers.flow, state, scalers)
        if pair is None or beside is None or _is_read(tree, beside[0]):
            continue
        for call, holder in scalers.loads(state.key):
            assert isinstance(call.func, cst.Attribute)
            if _is_another_display(steppers.flow, holder, state.place):
                continue
            if _goes_with(call.func.value, pair, steppers):
                yield Unrestored(call, holder, pair, *beside)
        for call, given in helpers.loads(state.key):
            if (
                steppers.of(given) is not None
                and _goes_with(given, pair, steppers)
                and scalers.are_made_here(pair.scaler)
            ):
                yield Unrestored(call, None, pair, *beside)


def _goes_with(optimizer: cst.BaseExpression, pair: StepPair, steppers: Steppers) -> bool:
    """Whether an optimizer goes with the scaler of a pair; one of which nobody sees who steps it does where there is no other
    scaler."""
    loaded = steppers.of(optimizer)
    others = [loaded] if loaded is not None else steppers.pairs
    return {path_of(each.scaler) for each in others} == {path_of(pair.scaler)}


def _loads_whatever(tree: Tree, scalers: ScalerStates, keys: frozenset[str]) -> bool:
    """Whether a file loads the states of objects that it does not name, or hands a scaler to something that loads.

    Args:
        tree: the file.
        scalers: where the states of scalers are saved and loaded.
        keys: those of the states of optimizers: what is loaded from under one of them is no scaler.
    """
    if _INHERITED.search(tree.source.text):
        return True
    calls = [call for call in tree.find(cst.Call) if vocabulary.LOADS.search(called_name(call))]
    loops: list[cst.For | cst.CompFor] = [*tree.find(cst.For), *tree.find(cst.CompFor)]
    unnamed = {each.value for loop in loops for each in within(loop.target) if isinstance(each, cst.Name)}
    for call in calls:
        if called_name(call) == "load_state_dict" and _may_be_any(call, unnamed):
            if not any(each.value.strip("'\"") in keys for each in tree.inside(call, cst.SimpleString)):
                return True
    return any(scalers.names(arg.value) for call in calls for arg in call.args)


def _may_be_any(call: cst.Call, unnamed: Set[str]) -> bool:
    """Whether a method is called on any object at all: on an element, on a variable of a loop, or on what a call gives."""
    if not isinstance(call.func, cst.Attribute):
        return False
    owner, getter = path_of(call.func.value), called_name(call.func.value)
    if not owner:
        return vocabulary.HAS_MODEL.search(getter) is None  # `unwrap_model(model).load_state_dict(...)` loads weights
    return owner.endswith("]") or owner.rpartition(".")[2] in unnamed


def _beside(flow: ValueFlow, state: SavedState, scalers: ScalerStates) -> tuple[str, cst.CSTNode] | None:
    """Key and place of the scaler's state in the same checkpoint."""
    kept: list[tuple[str, cst.CSTNode, cst.BaseExpression]] = [
        (key, element, element.value) for key, element in elements(state.place) if state.entry is not None
    ]
    if state.container:
        kept += [(literal_key(target), target, value) for target, value in flow.put(state.container, state.place)]
    return next(((key, at) for key, at, value in kept if key and scalers.holds_state(value)), None)


def _is_another_display(flow: ValueFlow, holder: cst.BaseExpression, checkpoint: cst.BaseExpression) -> bool:
    """Whether states are loaded from a dict that the file puts together, and which is not this checkpoint."""
    values = list(flow.values(holder))
    return any(isinstance(value, cst.Dict) for value in values) and checkpoint not in values


def _is_read(tree: Tree, key: str) -> bool:
    """Whether a file says the key of a scaler's state anywhere else than where it is put, or as the name of an attribute."""
    elsewhere: list[cst.CSTNode | None] = [element.key for element in tree.find(cst.DictElement)]
    for target in tree.find(cst.AssignTarget):
        index = target.target.slice[0].slice if isinstance(target.target, cst.Subscript) else None
        elsewhere.append(index.value if isinstance(index, cst.Index) else None)
    for call in tree.find(cst.Call):
        if path_of(call.func) in ("hasattr", "getattr") and len(call.args) > 1:
            elsewhere.append(call.args[1].value)
    put = sum(isinstance(each, cst.SimpleString) and each.value.strip("'\"") == key for each in elsewhere)
    said = re.findall(rf"""["']{re.escape(key)}["']""", tree.source.text)
    return len(said) > put or not vocabulary.SCALER_STATE.search(key)
