"""Functions that a library calls once for each batch, because an object of its was made with them: Ignite's `Engine(update)`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.lowering.function_scope import FunctionScope
from amplint.model import vocabulary
from amplint.model.libraries import CALLS_FOR_EACH_BATCH
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.words import words

_REGISTERS = frozenset({"on", "add_event_handler"})
_LAST_NAMES = frozenset(name.rpartition(".")[2] for name in CALLS_FOR_EACH_BATCH)
_AFTER_EACH = "ITERATION_COMPLETED"


class CalledBack:
    """What an object calls for each batch.

    Args:
        made: the call that makes an object.
        scope: that of the function which the call stands in.
    """

    def __init__(self, made: cst.Call, scope: FunctionScope) -> None:
        self._made, self._scope, self._tree = made, scope, scope.program.tree

    @property
    def first(self) -> cst.BaseExpression | None:
        """The function that the object is made with; None where it calls nothing back that is known."""
        if called_name(self._made) not in _LAST_NAMES or not self._made.args:  # asked of every call
            return None
        called_back = self._scope.names.all_in(self._made.func, CALLS_FOR_EACH_BATCH)
        return self._made.args[0].value if called_back else None

    @property
    def after_each(self) -> list[cst.BaseExpression]:
        """What is registered to be called after that function, whenever it was."""
        return [handler for event, handler in self._registered() if path_of(event).endswith(f".{_AFTER_EACH}")]

    @property
    def may_touch_scaler(self) -> bool:
        """Whether something that is registered for other times speaks of a scaler."""
        others = (each for event, each in self._registered() if not path_of(event).endswith(f".{_AFTER_EACH}"))
        bodies = (self._definition(each) or each for each in others)
        return any(vocabulary.SCALER.search(word) for body in bodies for word in words(body))

    def _registered(self) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
        """Events, each with what is called then."""
        assign = self._tree.parent(self._made)
        targets = [path_of(each.target) for each in assign.targets] if isinstance(assign, cst.Assign) else []
        for call in self._tree.inside(self._scope.node, cst.Call) if targets else ():
            if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _REGISTERS or not call.args:
                continue
            if path_of(call.func.value) not in targets:
                continue
            above = self._tree.parent(call)
            function = self._tree.parent(above) if isinstance(above, cst.Decorator) else None
            if isinstance(function, cst.FunctionDef):
                yield call.args[0].value, function.name
            elif len(call.args) > 1:
                yield call.args[0].value, call.args[1].value

    def _definition(self, handler: cst.BaseExpression) -> cst.CSTNode | None:
        """The function that a handler names."""
        bound = self._scope.names.bindings(handler.value, handler) if isinstance(handler, cst.Name) else []
        return bound[0].node if len(bound) == 1 else None
