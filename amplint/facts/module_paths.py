"""By which access paths a module goes: where it is made, in the functions that get it or give it back, and in what keeps it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.file import File
from amplint.model.records import frozen
from amplint.model.torch.layers import SAME_MODULE
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.bindings import targets
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.value_uses import How

_SAME = SAME_MODULE | {"half"}
_MAX_CALLS = 3
"""From a function to one that it calls, or that calls it, so many times."""


@frozen
class ModulePath:
    """A path by which a module goes from some place on.

    `through` are the nodes that all run before it gets there; `given_to` is the first call that it is given to. It is a `part`
    of what the first name of the path stands for, if the constructor of that makes it.
    """

    path: str
    place: cst.CSTNode
    through: tuple[cst.CSTNode, ...]
    given_to: cst.Call | None = None
    part: bool = False


class ModulePaths:
    """The paths of the modules of one file, also in classes of other files that this file gives them to."""

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._flow = file.tree, file.names, file.flow
        self._classes, self._callees = file.classes, file.callees

    def after(self, call: cst.Call) -> list[ModulePath]:
        """The paths by which a module goes after a method of it is called, or a function that loads it.

        Args:
            call: the call of the method, or of the function.
        """
        own = [ModulePath(path, call, (call,)) for path in (self.subject(call), self.assigned_to(call)) if path]
        found: dict[tuple[str, int], ModulePath] = {}
        waiting = [*own, *self._at_callers(call, own)]
        for _ in range(_MAX_CALLS):
            for each in waiting:
                found.setdefault((each.path, id(self._names.scope(each.place))), each)
            waiting = [further for each in waiting for further in (*self._given_on(each), *self._as_parts(each))]
        return list(found.values())

    def subject(self, call: cst.Call) -> str:
        """The path of the module that a chain of its methods is called on; empty for what loads a module.

        Args:
            call: the last call of the chain.
        """
        base: cst.BaseExpression = call
        while type(base) is cst.Call and type(base.func) is cst.Attribute and (base is call or _hands_on(base)):
            base = base.func.value
        return path_of(base) if called_name(call) != "from_pretrained" else ""

    def assigned_to(self, value: cst.BaseExpression) -> str:
        """The path that gets a module, or what methods that hand it on give.

        Args:
            value: what makes or names the module.
        """
        for use in self._flow.uses(value):
            if use.how is How.ASSIGNED and len(targets(use.node)) == 1:
                return path_of(targets(use.node)[0])
            if use.how is not How.METHOD or use.name not in _SAME:
                break
        return ""

    def _at_callers(self, call: cst.Call, own: list[ModulePath]) -> Iterator[ModulePath]:
        """The paths in the functions that call the one in which a call stands, and give it the module or get it back."""
        home, paths = self._tree.enclosing(call, cst.FunctionDef), {each.path for each in own}
        for caller in self._callees.callers(home) if isinstance(home, cst.FunctionDef) else ():
            assert isinstance(home, cst.FunctionDef)
            given = given_by(caller, home, self.subject(call))
            if given is not None and path_of(given):
                yield ModulePath(path_of(given), caller, (call, caller))
            target = self.assigned_to(caller)
            if target and any(path_of(value) in paths or value is call for value in self._returned(home)):
                yield ModulePath(target, caller, (call, caller))

    def _returned(self, function: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
        """What a function returns, before methods that hand on a module."""
        for value in self._flow.returned(function):
            while isinstance(value, cst.Call) and _hands_on(value):
                yield value
                value = cst.ensure_type(value.func, cst.Attribute).value
            yield value

    def _given_on(self, known: ModulePath) -> Iterator[ModulePath]:
        """The paths in the functions and constructors that get a module afterwards, and in the objects that keep it."""
        for call in self._tree.find(cst.Call, around=self._tree.root(known.place)):
            if any(path_of(arg.value) == known.path for arg in call.args) and self._is_after(call, known):
                callee = self._callees.of(call)
                function = self._flow.called(call) or (callee.node if callee is not None else None)
                for param in params_of(function) if function is not None else ():
                    yield from self._of_parameter(param.name.value, function, call, known)

    def _of_parameter(
        self, name: str, function: cst.FunctionDef | None, call: cst.Call, known: ModulePath
    ) -> Iterator[ModulePath]:
        """The path of a parameter that gets a module, and those of the attributes of `self` that keep it."""
        given = given_by(call, function, name) if function is not None else None
        if function is None or given is None or path_of(given) != known.path:
            return
        through, given_to = (*known.through, call), known.given_to or call
        yield ModulePath(name, function.body, through, given_to)
        for read in self._flow.reads(name, function.body):
            attribute = self.assigned_to(read)
            if attribute.startswith("self."):
                yield ModulePath(attribute, read, (*through, read), given_to)

    def _as_parts(self, known: ModulePath) -> Iterator[ModulePath]:
        """The paths of an attribute of `self` in the functions that make objects of the class, if its constructor makes it."""
        method, info = self._tree.enclosing(known.place, cst.FunctionDef), self._classes.owner(known.place)
        if info is None or method is not info.method("__init__") or not known.path.startswith("self."):
            return
        for call in self._tree.find(cst.Call):
            whole = self.assigned_to(call) if self._classes.instance_of(call, abroad=False) is info else ""
            if whole:
                yield ModulePath(f"{whole}.{known.path.removeprefix('self.')}", call, (*known.through, call), part=True)

    def _is_after(self, call: cst.Call, known: ModulePath) -> bool:
        """Whether a call stands behind the place from which on a path is that of the module, in its function."""
        together = self._names.scope(call) is self._names.scope(known.place)
        return together and self._tree.order(call) > self._tree.order(known.place)


def _hands_on(call: cst.Call) -> bool:
    """Whether a call is that of a method that gives back the module it is called on."""
    return type(call.func) is cst.Attribute and called_name(call) in _SAME
