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
        self._other_names: dict[str, str] = {}

    def holds(self, node: cst.Attribute) -> bool:
        """Whether an attribute of the object is a setting: an option of the user, or what the constructor was given."""
        path = path_of(node)
        if not path.startswith("self."):
            return False
        if path not in self._known:
            counts = vocabulary.COUNTER.search(node.attr.value) and not vocabulary.COUNT_OPTION.search(node.attr.value)
            self._known[path] = not counts and (user_options.is_option(path) or self._is_given(path))
        return self._known[path]

    def other_name(self, node: cst.Attribute) -> str:
        """The longer access path of an option that the constructor has also kept by itself; empty for none.

        With `self.args = args; self.clip = args.clip` in the constructor, `self.clip` is `self.args.clip`.

        Args:
            node: the attribute.
        """
        path = path_of(node)
        if path not in self._other_names:
            self._other_names[path] = self._through_holder(path)
        return self._other_names[path]

    def _through_holder(self, path: str) -> str:
        assigned, owner = self._assigned(path), self._scope.program.classes.owner(self._scope.node)
        if assigned is None or owner is None:
            return ""
        method, value = assigned
        given, dot, option = path_of(value).partition(".")
        if not dot or given not in _parameters(method):
            return ""
        kept = ((f"self.{name}", values) for each in owner.lineage for name, values in each.attributes.items())
        holders = [name for name, values in kept if any(path_of(each) == given for each in values)]
        return f"{holders[0]}.{option}" if len(holders) == 1 and self._assigned(holders[0]) else ""

    def _is_given(self, path: str) -> bool:
        """Whether the constructor alone assigns it, and assigns one of its parameters, or an option."""
        assigned = self._assigned(path)
        if assigned is None:
            return False
        method, value = assigned
        return path_of(value) in _parameters(method) or user_options.is_option(path_of(value))

    def _assigned(self, path: str) -> tuple[cst.FunctionDef, cst.BaseExpression] | None:
        """The constructor and what it assigns to an attribute of the object; None where anything else assigns it, too."""
        owner, name = self._scope.program.classes.owner(self._scope.node), path.removeprefix("self.")
        values = owner.values(name) if owner is not None and path != name and "." not in name else []
        method = self._scope.program.tree.enclosing(values[0], cst.FunctionDef) if len(values) == 1 else None
        if not isinstance(method, cst.FunctionDef) or method.name.value != "__init__":
            return None
        changed = self._scope.program.tree.find(cst.AugAssign)
        if any(path_of(each.target).rpartition(".")[2] == name for each in changed):
            return None
        return method, values[0]


def _parameters(method: cst.FunctionDef) -> set[str]:
    """The names that a constructor's arguments go by."""
    return {each.name.value for each in (*method.params.params, *method.params.kwonly_params)}
