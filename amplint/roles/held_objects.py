"""What stands behind an object that is reached through another one: a part of a holder, or an element of a collection."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.model.torch import layers
from amplint.roles.roles import Roles
from amplint.syntax.access_paths import displayed, elements, literal_key, path_of
from amplint.syntax.call_arguments import given_by
from amplint.syntax.class_info import ClassInfo
from amplint.syntax.classes import Classes
from amplint.syntax.loop_elements import paired
from amplint.syntax.names import Names
from amplint.syntax.nodes import is_sequence, within
from amplint.syntax.tree import Tree

_MAX_NAMES = 3
"""From a holder to the name that it was given by, and so on, so many times."""


class HeldObjects:
    """The objects of one file that are held by others.

    Args:
        tree: the file.
        names: what its names mean.
        roles: what its objects are.
        classes: its classes.
    """

    def __init__(self, tree: Tree, names: Names, roles: Roles, classes: Classes) -> None:
        self._tree, self._names, self._roles, self._classes = tree, names, roles, classes

    def behind(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """The objects that an expression may name: `optimizer` for `state.optimizer` after `state = State(optimizer)`, for
        `state["optimizer"]` after `state = {"optimizer": optimizer}`, and for `each` in `for each in (optimizer, other)`.

        Args:
            node: an attribute, an element, or the variable of a loop.
        """
        if isinstance(node, cst.Attribute) and path_of(node.value) != "self":
            yield from self.part(node.value, node.attr.value)
        elif isinstance(node, cst.Subscript) and literal_key(node):
            yield from self.part(node.value, literal_key(node))
        elif isinstance(node, cst.Name):
            yield from self._in_loops(node)

    def part(self, holder: cst.BaseExpression, name: str, names: int = _MAX_NAMES) -> Iterator[cst.BaseExpression]:
        """What a holder was given under a name, where it is made, or by those who hand it on.

        Args:
            holder: an object, or a dict.
            name: the name of its attribute, or the key.
            names: how many names may lie between.
        """
        if path_of(holder):
            held = (*self._roles.values(holder), *self._roles.flow.given(holder)) if names else ()
            for each in held:
                yield from self.part(each, name, names - 1)
            return
        info = self._classes.instance_of(holder) if isinstance(holder, cst.Call) else None
        if info is not None:
            yield from self._kept(cst.ensure_type(holder, cst.Call), info, name)
            return
        yield from (each.value for key, each in elements(holder) if key == name)
        maker = self._roles.flow.called(holder) if isinstance(holder, cst.Call) and names else None
        for returned in self._roles.flow.returned(maker):
            yield from self.part(returned, name, names - 1)

    def _kept(self, made: cst.Call, info: ClassInfo, name: str) -> Iterator[cst.BaseExpression]:
        """What an object was given, when it was made, for one of its attributes."""
        init = info.method("__init__")
        if init is None:
            yield from _field(made, info, name)
            return
        for value in info.values(name):
            given = given_by(made, init, value.value) if isinstance(value, cst.Name) else None
            if given is not None:
                yield given

    def made_by_holder(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What the class of a holder gives to the attribute that an expression names: `net.optimizer` after `net = Net()`.

        Args:
            node: any expression.
        """
        if not isinstance(node, cst.Attribute) or path_of(node.value) in ("", "self"):
            return []
        infos = (self._classes.instance_of(_same_module(made)) for made in self._roles.values(node.value))
        return [value for info in infos if info is not None for value in info.values(node.attr.value)]

    def is_wrapped(self, inner: cst.BaseExpression, wrapper: cst.BaseExpression) -> bool:
        """Whether the state of one object is that of another one which it keeps: `self._optim.state_dict()` of `Noam(...)`.

        Args:
            inner: an attribute, of the wrapper or in its class of `self`.
            wrapper: what names the wrapper.
        """
        if not isinstance(inner, cst.Attribute):
            return False
        at_home = path_of(inner.value) == "self"
        for made in self._roles.values(wrapper):
            info = self._classes.instance_of(made) if isinstance(made, cst.Call) else None
            taker = info.method("state_dict") if info is not None else None
            if info is None or taker is None or not (at_home or path_of(inner.value) == path_of(wrapper)):
                continue
            own = not at_home or self._classes.owner(inner) in info.lineage
            calls = (node.func for node in within(taker) if isinstance(node, cst.Call))
            if own and any(path_of(each) == f"self.{inner.attr.value}.state_dict" for each in calls):
                return True
        return False

    def _in_loops(self, name: cst.Name) -> Iterator[cst.BaseExpression]:
        """What a loop over a display, of which `name` takes the elements, or parts of them, goes through."""
        for target in [each.node for each in self._names.bindings(name.value, name)]:
            loop = self._tree.enclosing(target, cst.For, cst.CompFor) if target is not None else None
            pairs = paired(loop.target, loop.iter) if isinstance(loop, (cst.For, cst.CompFor)) else []
            collections = [collection for each, collection in pairs if each is target]
            for shown in (shown for each in collections for shown in self._roles.flow.meant(each)):
                for member in displayed(shown) if is_sequence(shown) or isinstance(shown, cst.Dict) else ():
                    yield self._taken(target, member)

    def _taken(self, target: cst.CSTNode | None, member: cst.BaseExpression) -> cst.BaseExpression:
        """What the target of a loop takes of an element: all of it, or its part at the same place."""
        above = self._tree.parent(target) if target is not None else None
        pattern = self._tree.parent(above) if isinstance(above, cst.Element) else None
        parts = displayed(member) if is_sequence(member) else []
        if not isinstance(pattern, cst.Tuple) or len(parts) != len(pattern.elements):
            return member
        return next(part for part, each in zip(parts, pattern.elements) if each.value is target)


def _same_module(made: cst.BaseExpression) -> cst.BaseExpression:
    """What a chain of methods begins with that give a module back: `Net()` of `Net().cuda()`."""
    while (
        isinstance(made, cst.Call)
        and isinstance(made.func, cst.Attribute)
        and made.func.attr.value in layers.SAME_MODULE
    ):
        made = made.func.value
    return made


def _field(made: cst.Call, info: ClassInfo, name: str) -> Iterator[cst.BaseExpression]:
    """What a call gives to a field of a class that has no constructor of its own, such as a dataclass."""
    fields = [field for each in reversed(info.lineage) for field in _fields(each.node)]
    for place, arg in enumerate(made.args):
        named = arg.keyword.value if arg.keyword is not None else fields[place] if place < len(fields) else ""
        if named == name and not arg.star:
            yield arg.value


def _fields(node: cst.ClassDef) -> list[str]:
    """The names that the body of a class annotates."""
    lines = [line for line in node.body.body if isinstance(line, cst.SimpleStatementLine)]
    return [path_of(each.target) for line in lines for each in line.body if isinstance(each, cst.AnnAssign)]
