"""Where the state of a scaler is kept and loaded, by what is called so and by what is named so."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import libcst as cst

from amplint.facts.checkpoints_beside import are_in_one_loop, are_of_one_run
from amplint.facts.loaded_states import LoadedStates
from amplint.facts.named_scalers import wrappers_of
from amplint.facts.optimizer_checkpoints import SavedState
from amplint.facts.saving_calls import registers, says_save
from amplint.facts.state_helpers import StatesByHelpers
from amplint.file import File
from amplint.model import vocabulary
from amplint.roles.held_objects import HeldObjects
from amplint.roles.step_pairs import Steppers
from amplint.roles.wrapped_optimizers import WrappedOptimizers
from amplint.syntax.access_paths import called_name, elements, index_of, literal_key, path_of
from amplint.syntax.nodes import within
from amplint.syntax.unused_arguments import used_arguments


def steppers_of(file: File) -> Steppers:
    """The optimizers of a file that are stepped through a scaler."""
    around = WrappedOptimizers(file.callees.objects)
    return Steppers(file.tree, file.roles, file.fact(wrappers_of), file.fact(held_objects_of), around)


def held_objects_of(file: File) -> HeldObjects:
    """The objects of a file that are held by others."""
    return HeldObjects(file.tree, file.names, file.roles, file.classes)


class ScalerStates(LoadedStates):
    """The states of scalers that one file keeps, and those that it loads."""

    def __init__(self, file: File) -> None:
        super().__init__(file)
        self._helped = file.fact(StatesByHelpers)

    @cached_property
    def keepers(self) -> set[cst.CSTNode | None]:
        """The functions (None: the module) that put the state of a scaler somewhere."""
        return {self._tree.function(node) for node in self._kept}

    @cached_property
    def _kept(self) -> list[cst.CSTNode]:
        """The calls, elements and keys by which the state of a scaler is put somewhere."""
        nodes = [*self._tree.find(cst.Call), *self._tree.find(cst.DictElement), *self._tree.find(cst.Subscript)]
        kept = (node for node in nodes if self._is_kept_by(node))
        return [node for node in kept if self._wrappers.around(node) is None]

    def serve(self, state: SavedState, functions: Collection[cst.CSTNode | None], scaler: cst.BaseExpression) -> bool:
        """Whether the state of a scaler is kept for the checkpoint that holds an optimizer's, or at least its scale.

        Args:
            state: the state of the optimizer, in its checkpoint.
            functions: those that may keep it (None: the module).
            scaler: the scaler that steps the optimizer.
        """
        kept = [node for node in self._kept if self._tree.enclosing(node, cst.FunctionDef) in functions]
        serving = (node for node in kept if not self._is_of_another(node, state))
        return any(not self._is_other_scalers(node, scaler) for node in serving) or self._holds_scale(state)

    def _is_other_scalers(self, kept: cst.CSTNode, scaler: cst.BaseExpression) -> bool:
        """Whether what is kept somewhere is the state of a scaler that was made apart from a given one."""
        above = self._tree.parent(kept)
        assign = self._tree.parent(above) if isinstance(above, cst.AssignTarget) else None
        value: cst.CSTNode = kept.value if isinstance(kept, cst.DictElement) else kept
        if isinstance(assign, cst.Assign):
            value = assign.value
        value = value.body if isinstance(value, cst.IfExp) else value
        owner = value.func.value if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) else None
        return owner is not None and self.are_made_apart(owner, scaler)

    def _is_of_another(self, kept: cst.CSTNode, state: SavedState) -> bool:
        """Whether a scaler's state is that of another checkpoint, which beside it holds nothing that this one lacks.

        One that is saved when the training is over or where nothing is scaled, or of which more becomes than a file, is none
        to compare with.
        """
        around = (each for each in (kept, *self._tree.ancestors(kept)) if isinstance(each, (cst.Dict, cst.Call)))
        other = next((each for each in around if isinstance(each, cst.Dict) or called_name(each) == "dict"), None)
        if other is None or other is state.place:
            return False
        own, others = dict(elements(state.place)), dict(elements(other))
        beside = {key for key, each in others.items() if not self._is_kept_under(key, each.value)}
        return (
            state.key in beside <= own.keys()
            and "" not in beside
            and self._tree.text(own[state.key].value) == self._tree.text(others[state.key].value)
            and self._is_just_saved(state)
            and are_in_one_loop(self._tree, other, state.place)
            and are_of_one_run(self._tree, other, state.place)
        )

    def _is_just_saved(self, state: SavedState) -> bool:
        """Whether the variable of a checkpoint, if it has one, is read to be saved, and for nothing else."""
        flow = self._roles.flow
        reads = flow.reads(state.container, state.place) if state.container else ()
        return all(isinstance(use.node, cst.Call) and says_save(use.node) for use in map(flow.use, reads))

    def _holds_scale(self, state: SavedState) -> bool:
        """Whether a checkpoint holds the scale itself, for whoever makes the scaler again."""
        values = [each.value for _, each in elements(state.place)]
        if state.container:
            values += [value for _, value in self._roles.flow.put(state.container, state.place)]
        asked = (value.func for value in values if called_name(value) == "get_scale" and isinstance(value, cst.Call))
        return any(isinstance(func, cst.Attribute) and self.names(func.value) for func in asked)

    def kept_by(self, function: cst.FunctionDef) -> bool:
        """Whether a function, of this file or of another one, puts the state of a scaler somewhere."""
        return any(self._is_kept_by(node) for node in within(function))

    def _is_kept_by(self, node: cst.CSTNode) -> bool:
        match node:
            case cst.DictElement(key=key, value=value):
                return self._is_kept_under(literal_key(key), value)
            case cst.Subscript():
                above = self._tree.parent(node)
                assign = self._tree.parent(above) if isinstance(above, cst.AssignTarget) else None
                if not isinstance(assign, cst.Assign) or (index := index_of(node)) is None:
                    return False
                return self._is_kept_under(literal_key(index) or self._tree.text(index), assign.value, bare=False)
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="state_dict"))):
                return self.may_be_scaler(owner)
            case cst.Call() if (asked := self._helped.of(node)) is not None:
                return self.may_be_scaler(asked)
            case cst.Call() if path_of(node.func) == "dict" or says_save(node) or registers(node):
                function = self._roles.flow.called(node)
                used = set(used_arguments(node, function)) if function is not None else {arg.value for arg in node.args}
                given = ((arg.keyword.value if arg.keyword is not None else "", arg.value) for arg in node.args)
                return any(value in used and self._is_kept_under(key, value) for key, value in given)
        return False

    def _is_kept_under(self, key: str, value: cst.BaseExpression, bare: bool = True) -> bool:
        """Whether a value under a key is the state of a scaler, or (bare) a scaler: by the key, or by its own name."""
        shown = (
            called_name(value) == "get_scale" and vocabulary.SCALER_ITSELF.search(key) is None
        )  # `logs["amp_scale"]`
        told = vocabulary.SCALER_STATE.search(key) is not None and not (shown or self._is_flag(value))
        return told or (bare and self.names(value))

    def _is_flag(self, value: cst.BaseExpression) -> bool:
        """Whether a value says that mixed precision is on (`args.amp`), and is no state of anything."""
        if is_flag(value):
            return True
        path = path_of(value)
        named = vocabulary.SCALER_ITSELF.search(path) or vocabulary.STATE.search(path) or self.is_apex(value)
        return vocabulary.SCALER_STATE.search(path) is not None and not named

    def holds_state(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is the state of a scaler: `scaler.state_dict()`, or that if there is one."""
        if isinstance(node, cst.IfExp):
            return self.holds_state(node.body) or self.holds_state(node.orelse)
        called = node.func if isinstance(node, cst.Call) else None
        if not isinstance(called, cst.Attribute) or called.attr.value != "state_dict":
            return False
        return self.may_be_scaler(called.value)


def is_flag(value: cst.BaseExpression) -> bool:
    """Whether a value is plainly a flag: a comparison, a negation, a text, `True` or `False`, or whether a scaler is enabled.

    Args:
        value: the expression.
    """
    plain = (cst.Comparison, cst.UnaryOperation, cst.SimpleString, cst.FormattedString)
    return isinstance(value, plain) or path_of(value) in ("True", "False") or called_name(value) == "is_enabled"
