"""Where the state of a scaler is kept and loaded, by what is called so and by what is named so."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.checkpoints_beside import are_in_one_loop, are_of_one_run
from amplint.facts.optimizer_checkpoints import SavedState
from amplint.facts.saving_calls import registers, says_save
from amplint.facts.state_helpers import StatesByHelpers
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.torch.names import GRAD_SCALER
from amplint.roles.handed_out_optimizers import is_or_wraps_optimizer
from amplint.roles.held_objects import HeldObjects
from amplint.roles.scaler_wrappers import ScalerWrappers
from amplint.roles.step_pairs import Steppers
from amplint.roles.wrapped_optimizers import WrappedOptimizers
from amplint.syntax.access_paths import asked_element, called_name, elements, index_of, literal_key, path_of
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.nodes import is_reference, within
from amplint.syntax.unused_arguments import used_arguments


def wrappers_of(file: File) -> ScalerWrappers:
    """The objects of a file that step through a scaler of their own."""
    return ScalerWrappers(file.tree, file.classes, file.roles)


def steppers_of(file: File) -> Steppers:
    """The optimizers of a file that are stepped through a scaler."""
    around = WrappedOptimizers(file.callees.objects)
    return Steppers(file.tree, file.roles, file.fact(wrappers_of), file.fact(held_objects_of), around)


def held_objects_of(file: File) -> HeldObjects:
    """The objects of a file that are held by others."""
    return HeldObjects(file.tree, file.names, file.roles, file.classes)


class ScalerStates:
    """The states of scalers that one file keeps, and those that it loads."""

    def __init__(self, file: File) -> None:
        self._tree, self._roles, self._names = file.tree, file.roles, file.names
        self._wrappers, self._helped = file.fact(wrappers_of), file.fact(StatesByHelpers)
        self._callees = file.callees

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
        kept = [node for node in self._kept if self._tree.function(node) in functions]
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
        return owner is not None and self._are_made_apart(owner, scaler)

    def _are_made_apart(self, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
        """Whether two expressions name scalers that different calls make."""
        first, second = self._makers(one), self._makers(other)
        return bool(first and second) and first.isdisjoint(second)

    def are_made_here(self, scaler: cst.BaseExpression) -> bool:
        """Whether a scaler is made by calls of its class, and not by a function that may load its state as well."""
        makers = [each for each in self._roles.values(scaler) if isinstance(each, cst.Call)]
        return bool(makers) and all(self._names.any_in(each.func, GRAD_SCALER) for each in makers)

    def _makers(self, scaler: cst.BaseExpression) -> set[int]:
        """The calls that make a scaler (identities); none where anything else may be one."""
        values = [each for each in self._roles.values(scaler) if path_of(each) != "None"]
        made = [each for each in values if isinstance(each, cst.Call) and self._roles.of(scaler).role == "scaler"]
        return {id(each) for each in made} if len(made) == len(values) else set()

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
                return self._may_be_scaler(owner)
            case cst.Call() if (asked := self._helped.of(node)) is not None:
                return self._may_be_scaler(asked)
            case cst.Call() if path_of(node.func) == "dict" or says_save(node) or registers(node):
                function = self._roles.flow.called(node)
                used = set(used_arguments(node, function)) if function is not None else {arg.value for arg in node.args}
                given = ((arg.keyword.value if arg.keyword is not None else "", arg.value) for arg in node.args)
                return any(value in used and self._is_kept_under(key, value) for key, value in given)
        return False

    def _is_kept_under(self, key: str, value: cst.BaseExpression, bare: bool = True) -> bool:
        """Whether a value under a key is the state of a scaler, or (bare) a scaler: by the key, or by its own name."""
        told = vocabulary.SCALER_STATE.search(key) is not None and not self._is_flag(value)
        return told or (bare and self.names(value))

    def _is_flag(self, value: cst.BaseExpression) -> bool:
        """Whether a value says that mixed precision is on (`args.amp`), and is no state of anything."""
        if is_flag(value):
            return True
        path = path_of(value)
        named = vocabulary.SCALER_ITSELF.search(path) or vocabulary.STATE.search(path) or self._is_apex(value)
        return vocabulary.SCALER_STATE.search(path) is not None and not named

    def _is_apex(self, node: cst.BaseExpression) -> bool:
        """Whether an expression names `apex.amp`, which has a state of its own."""
        return self._names.any_in(node, {"apex.amp"})

    def names(self, node: cst.BaseExpression) -> bool:
        """Whether an expression names a scaler."""
        if not is_reference(node):
            return False
        named = vocabulary.SCALER_ITSELF.search(path_of(node)) is not None
        if named or self._roles.of(node).role == "scaler" or self._is_apex(node):
            return True
        return self._wrappers.may_name(node)

    def _may_be_scaler(self, owner: cst.BaseExpression) -> bool:
        """Whether the object of which a state is taken, or which gets one, is a scaler, or one of several; so no flag."""
        paths = map(path_of, (owner, *self._roles.collections(owner)))
        return self.names(owner) or any(map(vocabulary.SCALER_STATE.search, paths))

    def has(self, scaler: cst.BaseExpression, method: str) -> bool:
        """Whether a scaler has a method; an object around one may be without those for its state.

        Args:
            scaler: the path of the scaler.
            method: the name of the method.
        """
        if not self._wrappers.may_name(scaler):
            return True
        classes = self._wrappers.named_classes(scaler)
        return all(info is not None and info.method(method) is not None for info in classes)

    def holds_state(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is the state of a scaler: `scaler.state_dict()`, or that if there is one."""
        if isinstance(node, cst.IfExp):
            return self.holds_state(node.body) or self.holds_state(node.orelse)
        called = node.func if isinstance(node, cst.Call) else None
        if not isinstance(called, cst.Attribute) or called.attr.value != "state_dict":
            return False
        return self._may_be_scaler(called.value)

    @cached_property
    def _loads(self) -> list[tuple[cst.Call, cst.BaseExpression]]:
        """The calls of `load_state_dict`, with what they are called on."""
        return [(call, owner) for call, owner in self._roles.flow.methods("load_state_dict") if call.args]

    @property
    def loads_scaler(self) -> bool:
        """Whether the file loads the state of a scaler."""
        return any(self._may_be_scaler(owner) for _, owner in self._loads) or bool(self._keys_by_helpers)

    def loads_of(self, scaler: cst.BaseExpression) -> list[cst.Call]:
        """The loads of the state of a scaler, or of one that may be it."""
        may_be = ((call, owner) for call, owner in self._loads if self._may_be_scaler(owner))
        return [call for call, owner in may_be if not self._are_made_apart(owner, scaler)]

    def key_of(self, scaler: cst.BaseExpression) -> str:
        """The key from which the file loads the state of a scaler, or a helper that it is given to under that name
        (`restore(path, optimizer=optimizer, scaler=scaler)`); empty when that cannot be told."""
        keys = {asked[1] if (asked := asked_element(call.args[0].value)) else "" for call in self.loads_of(scaler)}
        loaders = (call for call in self._tree.find(cst.Call) if vocabulary.LOADS.search(called_name(call)))
        given = (arg for call in loaders for arg in call.args if path_of(arg.value) == path_of(scaler) != "")
        keys = keys or {arg.keyword.value for arg in given if arg.keyword is not None}
        keys = {key for path, key in self._keys_by_helpers if path == path_of(scaler)} or keys
        return keys.pop() if len(keys) == 1 else ""

    @cached_property
    def _keys_by_helpers(self) -> set[tuple[str, str]]:
        """The scalers that functions of other files are given, which load their states, each with the key from which they do."""
        found: set[tuple[str, str]] = set()
        for call in self._tree.find(cst.Call):
            given = [arg.value for arg in call.args if self._may_be_scaler(arg.value)]
            callee = self._callees.of(call, wherever=True) if given else None
            if callee is not None and self._tree.root(callee.node) is not self._tree.module:
                for param in params_of(callee.node):
                    scaler = given_by(call, callee.node, param.name.value)
                    if scaler is not None and scaler in given:
                        found |= {(path_of(scaler), key) for key in self._loaded_from(callee.node, param.name.value)}
        return found

    def _loaded_from(self, function: cst.FunctionDef, name: str) -> Iterator[str]:
        """The keys from which a function loads the state of what it is given as a parameter."""
        for call in self._tree.inside(function, cst.Call):
            loads = path_of(call.func) == f"{name}.load_state_dict" and call.args
            asked = asked_element(call.args[0].value) if loads else None
            if asked is not None:
                yield asked[1]

    def loads(self, key: str) -> list[tuple[cst.Call, cst.BaseExpression]]:
        """The loads of an optimizer's state from an element of something, and what it is an element of.

        An element that is put there from somewhere else is none: `state["optimizer"] = other["optimizer"]`.
        """
        asked = ((call, owner, asked_element(call.args[0].value)) for call, owner in self._loads)
        found = [
            (call, element[0])
            for call, owner, element in asked
            if element is not None and element[1] == key and is_or_wraps_optimizer(self._roles, owner)
        ]
        return [(call, holder) for call, holder in found if not self._is_filled_in(holder, key, call)]

    def _is_filled_in(self, holder: cst.BaseExpression, key: str, call: cst.Call) -> bool:
        """Whether a function puts something from elsewhere under a key of what it loads from."""
        path = path_of(holder)
        put = self._roles.flow.put(path, call) if path else ()
        return any(literal_key(target) == key and path not in map(path_of, within(value)) for target, value in put)


def is_flag(value: cst.BaseExpression) -> bool:
    """Whether a value is plainly a flag: a comparison, a negation, a text, `True` or `False`.

    Args:
        value: the expression.
    """
    plain = (cst.Comparison, cst.UnaryOperation, cst.SimpleString, cst.FormattedString)
    return isinstance(value, plain) or path_of(value) in ("True", "False")
