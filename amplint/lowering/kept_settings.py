"""Settings that an object keeps (`self.args.clip`, `self.max_norm`): what they are compared with stays as true as it is."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.function_scope import FunctionScope
from amplint.model import vocabulary
from amplint.roles import user_options
from amplint.syntax.access_paths import path_of


class KeptSettings:
    """Those of the object whose method is read.

    Args:
        scope: the method.
    """

    def __init__(self, scope: FunctionScope) -> None:
        self._scope = scope
        self._known: dict[str, bool] = {}

    def holds(self, node: cst.Attribute) -> bool:
        """Whether an attribute of the object is a setting: an option of the user, or what the constructor was given."""
        path = path_of(node)
        if not path.startswith("self."):
            return False
        if path not in self._known:
            counts = vocabulary.COUNTER.search(node.attr.value) and not vocabulary.COUNT_OPTION.search(node.attr.value)
            self._known[path] = not counts and (user_options.is_option(path) or self._is_given(path))
        return self._known[path]

    def _is_given(self, path: str) -> bool:
        """Whether the constructor alone assigns it, and assigns one of its parameters, or an option."""
        owner, name = self._scope.program.classes.owner(self._scope.node), path.removeprefix("self.")
        values = owner.values(name) if owner is not None and "." not in name else []
        if len(values) != 1:
            return False
        method = self._scope.program.tree.enclosing(values[0], cst.FunctionDef)
        if not isinstance(method, cst.FunctionDef) or method.name.value != "__init__":
            return False
        given = {each.name.value for each in (*method.params.params, *method.params.kwonly_params)}
        if path_of(values[0]) not in given and not user_options.is_option(path_of(values[0])):
            return False
        changed = self._scope.program.tree.find(cst.AugAssign)
        return not any(path_of(each.target).rpartition(".")[2] == name for each in changed)
