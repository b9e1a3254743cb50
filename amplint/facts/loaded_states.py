"""Where the states of scalers and optimizers are loaded, in a file and by functions of others that it hands its scalers to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.named_scalers import NamedScalers
from amplint.file import File
from amplint.model import vocabulary
from amplint.roles.handed_out_optimizers import is_or_wraps_optimizer
from amplint.syntax.access_paths import asked_element, called_name, literal_key, path_of
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.nodes import within


class LoadedStates(NamedScalers):
    """The loads of one file."""

    def __init__(self, file: File) -> None:
        super().__init__(file)
        self._callees = file.callees

    @cached_property
    def _loads(self) -> list[tuple[cst.Call, cst.BaseExpression]]:
        """The calls of `load_state_dict`, with what they are called on."""
        return [(call, owner) for call, owner in self._roles.flow.methods("load_state_dict") if call.args]

    @property
    def loads_scaler(self) -> bool:
        """Whether the file loads the state of a scaler."""
        return any(self.may_be_scaler(owner) for _, owner in self._loads) or bool(self._keys_by_helpers)

    def loads_of(self, scaler: cst.BaseExpression) -> list[cst.Call]:
        """The loads of the state of a scaler, or of one that may be it."""
        may_be = ((call, owner) for call, owner in self._loads if self.may_be_scaler(owner))
        return [call for call, owner in may_be if not self.are_made_apart(owner, scaler)]

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
            given = [arg.value for arg in call.args if self.may_be_scaler(arg.value)]
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
