"""Which expressions name scalers, by their roles and by what they are called, and which of these are the same."""

from __future__ import annotations

import libcst as cst

from amplint.file import File
from amplint.model import vocabulary
from amplint.model.torch.names import GRAD_SCALER
from amplint.roles.scaler_wrappers import ScalerWrappers, sides_of
from amplint.syntax.access_paths import path_of
from amplint.syntax.nodes import is_reference


def wrappers_of(file: File) -> ScalerWrappers:
    """The objects of a file that step through a scaler of their own."""
    return ScalerWrappers(file.tree, file.classes, file.roles)


class NamedScalers:
    """The scalers of one file."""

    def __init__(self, file: File) -> None:
        self._tree, self._roles, self._names = file.tree, file.roles, file.names
        self._wrappers = file.fact(wrappers_of)

    def are_made_apart(self, one: cst.BaseExpression, other: cst.BaseExpression) -> bool:
        """Whether two expressions name scalers that different calls make.

        Args:
            one: an expression.
            other: another one.
        """
        first, second = self._makers(one), self._makers(other)
        return bool(first and second) and first.isdisjoint(second)

    def are_made_here(self, scaler: cst.BaseExpression) -> bool:
        """Whether a scaler is made by calls of its class, and not by a function that may load its state as well."""
        makers = [each for each in self._roles.values(scaler) if isinstance(each, cst.Call)]
        return bool(makers) and all(self._names.any_in(each.func, GRAD_SCALER) for each in makers)

    def _makers(self, scaler: cst.BaseExpression) -> set[int]:
        """The calls that make a scaler (identities); none where anything else may be one."""
        sides = [side for each in self._roles.values(scaler) for side in sides_of(each)]
        values = [each for each in sides if path_of(each) != "None"]
        made = [each for each in values if isinstance(each, cst.Call) and self._roles.of(scaler).role == "scaler"]
        return {id(each) for each in made} if len(made) == len(values) else set()

    def is_apex(self, node: cst.BaseExpression) -> bool:
        """Whether an expression names `apex.amp`, which has a state of its own.

        Args:
            node: the expression.
        """
        return self._names.any_in(node, {"apex.amp"})

    def names(self, node: cst.BaseExpression) -> bool:
        """Whether an expression names a scaler."""
        if not is_reference(node):
            return False
        named = vocabulary.SCALER_ITSELF.search(path_of(node)) is not None
        if named or self._roles.of(node).role == "scaler" or self.is_apex(node):
            return True
        return self._wrappers.may_name(node)

    def may_be_scaler(self, owner: cst.BaseExpression) -> bool:
        """Whether the object of which a state is taken, or which gets one, is a scaler, or one of several; so no flag.

        Args:
            owner: what names the object.
        """
        paths = map(path_of, (owner, *self._roles.collections(owner)))
        return self.names(owner) or any(map(vocabulary.SCALER_STATE.search, paths))

    def has(self, scaler: cst.BaseExpression, method: str) -> bool:
        """Whether a scaler has a method; an object around one may be without those for its state.

        Args:
            scaler: the path of the scaler.
            method: the name of the method.
        """
        if not self._wrappers.may_name(scaler):
            return True
        classes = self._wrappers.named_classes(scaler)
        return all(info is not None and info.method(method) is not None for info in classes)
