"""Calls of what `functools.partial` has given a function and arguments before."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.lowering.function_scope import FunctionScope
from amplint.model.torch.names import CLIPS
from amplint.roles.region_makers import PARTIAL
from amplint.syntax.access_paths import path_of


class PresetCalls:
    """Reads the calls in one function.

    Args:
        scope: the names of the function.
    """

    def __init__(self, scope: FunctionScope) -> None:
        self._scope = scope
        self._names, self._flow = scope.program.names, scope.program.roles.flow

    def whole(self, call: cst.Call) -> cst.Call:
        """The call of the function that a partial was made of, with all arguments; the call itself where it is of none.

        Of several partials that an attribute of `self` may hold, the first counts, if all of them clip gradients.
        """
        if type(call.func) is cst.Name:
            value = self._scope.definition(call.func)
            made = [value] if value is not None else []
        else:
            made = list(self._kept(call.func)) if path_of(call.func).startswith("self.") else []
        partials = [each for each in made if isinstance(each, cst.Call) and self._is_partial(each)]
        if not partials or len(partials) < len(made):
            return call
        if len(partials) > 1 and not all(self._names.all_in(each.args[0].value, CLIPS) for each in partials):
            return call
        args = [*partials[0].args[1:], *call.args]
        return cst.Call(partials[0].args[0].value, sorted(args, key=lambda arg: bool(arg.star or arg.keyword)))

    def _kept(self, attribute: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """What an attribute of `self` may hold but None, also where a function in sight makes it."""
        for value in self._flow.values(attribute):
            is_made = isinstance(value, cst.Call) and not self._is_partial(value)
            returned = (
                list(self._flow.returned(self._flow.called(value))) if isinstance(value, cst.Call) and is_made else []
            )
            found = [held for each in returned for held in (list(self._flow.values(each)) or [each])]
            yield from (each for each in found or [value] if path_of(each) != "None")

    def _is_partial(self, value: cst.Call) -> bool:
        return bool(value.args) and self._names.all_in(value.func, PARTIAL)
