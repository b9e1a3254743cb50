"""Optimizers all of whose parameters were made half: a region has nothing to cast for their models."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from amplint.facts.module_paths import ModulePaths
from amplint.file import File
from amplint.model.torch.precision import BFLOAT16, FLOAT16, named
from amplint.syntax.access_paths import path_of

_HALF = named(FLOAT16, BFLOAT16)


class HalfParameters:
    """The models of one file that are cast to float16 or bfloat16, by their access paths."""

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._roles, self._flow = file.tree, file.names, file.roles, file.flow
        self._paths = file.fact(ModulePaths)

    def are_all_of(self, step: cst.CSTNode) -> bool:
        """Whether all parameters that a step changes are those of models that are cast to half.

        Args:
            step: the call that steps, of the optimizer or of a scaler that is given it.
        """
        if not isinstance(step, cst.Call) or not isinstance(step.func, cst.Attribute):
            return False
        receivers = (step.func.value, *(arg.value for arg in step.args[:1]))
        stepped = [facts for facts in map(self._roles.of, receivers) if facts.role == "optimizer"]
        # What a class of a library is given besides parameters (`options.lr`) is no model.
        models = [owner for facts in stepped for owner in facts.owners if facts.made or owner in self._asked]
        return bool(models) and all(any(f"{each}.".startswith(f"{path}.") for path in self._cast) for each in models)

    @cached_property
    def _asked(self) -> frozenset[str]:
        """The paths of what is asked for its parameters."""
        calls = (*self._flow.methods("parameters"), *self._flow.methods("named_parameters"))
        return frozenset(path_of(owner) for _, owner in calls)

    @cached_property
    def _cast(self) -> frozenset[str]:
        """The paths of the models that are cast, where the cast runs without a condition."""
        calls = (call for call in self._tree.find(cst.Call) if self._casts(call))
        always = (
            call
            for call in calls
            if self._tree.enclosing(call, cst.If, cst.IfExp, cst.FunctionDef, cst.Try) is self._tree.function(call)
        )
        return frozenset(
            path for call in always for path in (self._paths.subject(call), self._paths.assigned_to(call)) if path
        )

    def _casts(self, call: cst.Call) -> bool:
        if not isinstance(call.func, cst.Attribute):
            return False
        if call.func.attr.value in ("half", "bfloat16"):
            return not call.args
        return call.func.attr.value == "to" and any(self._names.all_in(arg.value, _HALF) for arg in call.args)
