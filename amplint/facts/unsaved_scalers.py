"""Classes whose objects step an optimizer of their own through a scaler of their own, and give that scaler's state to nobody."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.facts.save_helpers import SaveHelpers
from amplint.file import File
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import params_of
from amplint.syntax.class_info import ClassInfo
from amplint.syntax.nodes import within


class UnsavedScalers:
    """The scalers that objects keep to themselves, as one file sees them."""

    def __init__(self, file: File) -> None:
        self._roles, self._helpers = file.roles, file.fact(SaveHelpers)

    def steps(self, info: ClassInfo) -> Iterator[tuple[str, cst.Call]]:
        """The attributes of a class that hold optimizers which its enabled scaler steps, each with a step; none if a method takes
        the scaler's state.

        Args:
            info: the class.
        """
        for _, call, holder, attribute in self._steps(info):
            if holder == "self":
                yield attribute, call

    def steps_of_given(self, info: ClassInfo) -> Iterator[tuple[str, str, cst.Call]]:
        """The optimizers of what the methods of a class are given, which its enabled scaler steps: `trainer`, `optimizer`, and a
        step; none if a method takes the scaler's state.

        Args:
            info: the class.
        """
        for method, call, holder, attribute in self._steps(info):
            if holder in {each.name.value for each in params_of(method)} - {"self"}:
                yield holder, attribute, call

    def _steps(self, info: ClassInfo) -> Iterator[tuple[cst.FunctionDef, cst.Call, str, str]]:
        """The steps through a scaler of a class: the method, the call, what holds the optimizer, and under which name."""
        methods = [method for base in info.lineage for method in base.methods.values()]
        if not info.closed or any(map(self._helpers.keeps_scaler, methods)):
            return
        for method, call in ((each, node) for each in methods for node in within(each) if isinstance(node, cst.Call)):
            owner = path_of(call.func).removesuffix(".step")
            holder, _, attribute = path_of(call.args[0].value).partition(".") if call.args else ("", "", "")
            if owner != path_of(call.func) and attribute and self._is_scaler(info, owner):
                yield method, call, holder, attribute

    def _is_scaler(self, info: ClassInfo, path: str) -> bool:
        """Whether all that a class assigns to an attribute of `self` is a scaler that is not disabled, or None."""
        values = info.values(path.removeprefix("self.")) if path.startswith("self.") else []
        made = [self._roles.made_by(value) for value in values if path_of(value) != "None"]
        return bool(made) and all(
            facts is not None and facts.role == "scaler" and facts.enabled != "no" for facts in made
        )
