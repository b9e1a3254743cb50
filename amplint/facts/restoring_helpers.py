"""Functions of other files that load the state of an optimizer which they are given, and know of no scaler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from amplint.file import File
from amplint.model import vocabulary
from amplint.roles.call_targets import Callee
from amplint.syntax.access_paths import literal_key, path_of
from amplint.syntax.call_arguments import given_by
from amplint.syntax.nodes import within


class RestoringHelpers:
    """The calls of one file by which a function of another file gets an optimizer, and loads its state."""

    def __init__(self, file: File) -> None:
        self._tree, self._roles, self._callees = file.tree, file.roles, file.callees

    def loads(self, key: str) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
        """The calls, each with the optimizer that it gives.

        Args:
            key: the key under which the state is loaded.
        """
        for call in self._tree.find(cst.Call):
            if not any(self._roles.of(arg.value).role == "optimizer" for arg in call.args if not arg.star):
                continue
            callee = self._callees.of(call) if not _mentions_scaler(within(call)) else None
            if callee is not None and self._tree.root(callee.node) is not self._tree.module:
                yield from ((call, given) for given in self._restored(call, callee, key))

    def _restored(self, call: cst.Call, callee: Callee, key: str) -> Iterator[cst.BaseExpression]:
        inside = [*within(callee.node)]
        for node in inside if not _mentions_scaler(inside) else ():
            match node:
                case cst.Call(
                    func=cst.Attribute(value=cst.Name(name), attr=cst.Name("load_state_dict")), args=[arg, *_]
                ):
                    given = given_by(call, callee.node, name) if _is_under(arg.value, key) else None
                    if given is not None and path_of(given):
                        yield given


def _is_under(state: cst.BaseExpression, key: str) -> bool:
    return isinstance(state, cst.Subscript) and literal_key(state) == key


def _mentions_scaler(nodes: Iterable[cst.CSTNode]) -> bool:
    """Whether a name or a text among some nodes is one of a scaler, or of its state."""
    words = (each.value for each in nodes if isinstance(each, (cst.Name, cst.SimpleString)))
    return any(vocabulary.SCALER_STATE.search(each) for each in words)
