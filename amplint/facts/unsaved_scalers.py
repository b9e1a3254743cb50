"""Classes whose objects step an optimizer of their own through a scaler of their own, and give that scaler's state to nobody."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.facts.save_helpers import SaveHelpers
from amplint.file import File
from amplint.syntax.access_paths import path_of
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
        methods = [method for base in info.lineage for method in base.methods.values()]
        if not info.closed or any(map(self._helpers.keeps_scaler, methods)):
            return
        for call in (node for method in methods for node in within(method) if isinstance(node, cst.Call)):
            owner = path_of(call.func).removesuffix(".step")
            this, _, attribute = path_of(call.args[0].value).partition(".") if call.args else ("", "", "")
            if owner != path_of(call.func) and this == "self" and self._is_scaler(info, owner):
                yield attribute, call

    def _is_scaler(self, info: ClassInfo, path: str) -> bool:
        """Whether all that a class assigns to an attribute of `self` is a scaler that is not disabled, or None."""
        values = info.values(path.removeprefix("self.")) if path.startswith("self.") else []
        made = [self._roles.made_by(value) for value in values if path_of(value) != "None"]
        return bool(made) and all(
            facts is not None and facts.role == "scaler" and facts.enabled != "no" for facts in made
        )
