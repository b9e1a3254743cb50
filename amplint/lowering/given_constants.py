"""Parameters of a script's functions that are always one constant: all its calls give them that, or leave them at it."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.function_scope import FunctionScope
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import given_by, params_of

_MAIN = "__name__"
"""What a script asks for before it runs."""


class GivenConstants:
    """Those of one function.

    Args:
        scope: the function.
    """

    def __init__(self, scope: FunctionScope) -> None:
        self._scope, self._tree = scope, scope.program.tree
        self._known: dict[str, bool | None] = {}

    def truth(self, name: cst.Name) -> bool | None:
        """The truth of the constant that a parameter always is; None for any other name, and where others may call the function.

        Args:
            name: names the parameter.
        """
        if name.value not in self._known:
            self._known[name.value] = self._always(name.value)
        return self._known[name.value]

    def _always(self, name: str) -> bool | None:
        function, bound = self._scope.node, self._scope.bound.get(name, ())
        if not isinstance(function, cst.FunctionDef) or not self._is_at_top(function):
            return None
        params = [each for each in params_of(function) if each.name.value == name]
        default = truth_of(params[0].default) if params and len(bound) == 1 else None
        calls = self._calls(function) if default is not None else []
        if not calls or not self._is_script(calls):
            return None
        truths = {default if (given := given_by(call, function, name)) is None else truth_of(given) for call in calls}
        return truths.pop() if len(truths) == 1 else None

    def _is_script(self, calls: list[cst.Call]) -> bool:
        """Whether the file runs itself, so that its functions are there for its own calls: by the question how it was loaded, or
        by a call that runs as soon as it is."""
        asked = (each.test for each in self._tree.find(cst.If) if self._is_at_top(each))
        return any(_MAIN in self._tree.words(test) for test in asked) or any(map(self._runs_at_once, calls))

    def _is_at_top(self, node: cst.CSTNode) -> bool:
        """Whether a node stands in no function and no class."""
        return self._tree.enclosing(node, cst.FunctionDef, cst.ClassDef, cst.Lambda) is None

    def _runs_at_once(self, call: cst.Call) -> bool:
        return self._tree.function(call) is None

    def _calls(self, function: cst.FunctionDef) -> list[cst.Call]:
        """All calls of a function of the file; none where it is used in any other way, or arguments are spread."""
        name = function.name.value
        calls = [each for each in self._scope.program.flow.calls(name) if path_of(each.func) == name]
        uses = sum(each.value == name for each in self._tree.find(cst.Name)) - 1  # its definition is no use
        return calls if uses == len(calls) and not any(arg.star for call in calls for arg in call.args) else []


def truth_of(node: cst.BaseExpression | None) -> bool | None:
    """The truth of `True` and `False`; None for anything else.

    Args:
        node: an expression.
    """
    return node.value == "True" if isinstance(node, cst.Name) and node.value in ("True", "False") else None
