"""States that helpers take of what they are given: `state_of(optimizer)` instead of `optimizer.state_dict()`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.call_arguments import params_of
from amplint.syntax.nodes import is_reference


class StatesByHelpers:
    """The calls of one file that give back the state of what they are given."""

    def __init__(self, file: File) -> None:
        self._tree, self._flow = file.tree, file.flow

    @cached_property
    def taken(self) -> tuple[tuple[cst.Call, cst.BaseExpression], ...]:
        """Those calls, each with what it is given, in source order."""
        calls = [call for call in self._tree.find(cst.Call) if "state" in called_name(call) and call.args]
        given = ((call, call.args[0].value) for call in calls if is_reference(call.args[0].value))
        return tuple((call, each) for call, each in given if self._takes_state(self._flow.called(call)))

    def of(self, call: cst.Call) -> cst.BaseExpression | None:
        """That of which a call gives back the state; None for any other call.

        Args:
            call: any call.
        """
        return next((each for taking, each in self.taken if taking is call), None)

    def _takes_state(self, helper: cst.FunctionDef | None) -> bool:
        """Whether a function returns the state of its first parameter, or of the module in that, and nothing else."""
        params = params_of(helper) if helper is not None else []
        returned = [value for each in self._flow.returned(helper) for value in self._sides(each)]
        paths = {path_of(each.func) if isinstance(each, cst.Call) else "" for each in returned}
        own = {f"{each.name.value}{inner}.state_dict" for each in params[:1] for inner in ("", ".module")}
        return bool(paths) and paths <= own

    def _sides(self, value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """What a value is, or may be by a name, or by a condition."""
        for meant in self._flow.meant(value):
            yield from (meant.body, meant.orelse) if isinstance(meant, cst.IfExp) else (meant,)
