"""Which function a call runs, in the file itself or in another one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache

import libcst as cst

from amplint.model.records import frozen
from amplint.roles.object_classes import ObjectClasses
from amplint.roles.roles import Roles
from amplint.syntax.access_paths import path_of
from amplint.syntax.call_arguments import chosen_by_a_condition
from amplint.syntax.classes import Classes
from amplint.syntax.names import Binding, Names
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree
from amplint.syntax.words import words

_WORTH_FOLLOWING = re.compile(
    r"loss|optim|(^|_)opts?$|scal|param|grad|step|backward|clip|train|update|sched|amp|model|net($|_)|penalt|regulari|criterion",
    re.IGNORECASE,
)
"""A call in which no word says that it has to do with training is not followed into another file."""

_CALLED = ("__call__", "forward")
"""The methods that run when an object is called, whatever it is called by."""


@frozen
class Callee:
    """A function that a call runs: its key, its definition, the path of the object it is called on, and how that was made."""

    key: str
    node: cst.FunctionDef
    receiver: str | None = None
    made: cst.Call | None = None


class Callees:
    """Finds the functions that the calls of a file run.

    Args:
        tree: the file.
        names: what its names mean.
        classes: its classes, whose methods are called.
        imports: leads to the functions of other files.
        roles: what its objects are.
        enter: the key of a function that is gone into; None for one too many in other files.

    Attributes:
        objects: the classes of the objects on which methods are called.
    """

    def __init__(
        self,
        tree: Tree,
        names: Names,
        classes: Classes,
        imports: Imports,
        roles: Roles,
        enter: Callable[[cst.FunctionDef], str | None],
    ) -> None:
        self._tree = tree
        self._names = names
        self._classes = classes
        self._imports = imports
        self._roles = roles
        self.objects = ObjectClasses(tree, names, classes, imports, roles)
        self._enter = enter
        self._known: dict[tuple[int, int, bool], tuple[cst.Call, Callee | None]] = {}
        self._callers: dict[int, tuple[cst.FunctionDef, list[cst.Call]]] = {}
        self._choices: dict[int, tuple[cst.Call, tuple[cst.IfExp, tuple[cst.Call, cst.Call]] | None]] = {}

    def of(self, call: cst.Call, inside: cst.CSTNode | None = None, wherever: bool = False) -> Callee | None:
        """The function that a call is known to run, in this file or in another one.

        Args:
            call: the call.
            inside: the function, or module, that it is taken to stand in; by default the one that it does stand in.
            wherever: whether it is followed into another file although no word in it has to do with training.
        """
        inside = inside or self._tree.enclosing(call, cst.FunctionDef) or self._tree.root(call)
        # By identity, as nodes hash slowly; the call is kept, so that no other one can get its identity.
        key = id(call), id(inside), wherever
        known = self._known.get(key)
        if known is None:
            abroad = wherever or any(map(_is_worth_following, words(call)))
            known = self._known[key] = call, self._of(call, inside, abroad)
        return known[1]

    def choice(self, call: cst.Call) -> tuple[cst.IfExp, tuple[cst.Call, cst.Call]] | None:
        """The condition by which a name stands for one of two functions, and the same call of each; None for any other call.

        After `train = pretrain if early else finetune` these are, for `train(model)`, `pretrain(model)` and `finetune(model)`.

        Args:
            call: the call.
        """
        if id(call) not in self._choices:
            chosen = chosen_by_a_condition(call, self._names)
            sides = (
                (cst.Call(chosen.body, call.args), cst.Call(chosen.orelse, call.args)) if chosen is not None else None
            )
            # The call is kept, so that no other one can get its identity.
            self._choices[id(call)] = call, (chosen, sides) if chosen is not None and sides is not None else None
        return self._choices[id(call)][1]

    def all_of(self, call: cst.Call, inside: cst.CSTNode | None = None) -> list[Callee]:
        """The functions that a call is known to run: one, or those between which a condition chooses.

        Args:
            call: the call.
            inside: the function, or module, that it is taken to stand in; by default the one that it does stand in.
        """
        inside = inside or self._tree.enclosing(call, cst.FunctionDef) or self._tree.root(call)
        choice = self.choice(call)
        found = (self.of(each, inside) for each in (choice[1] if choice is not None else (call,)))
        return [each for each in found if each is not None]

    def managing(self, context: cst.BaseExpression) -> tuple[Callee, Callee] | None:
        """What a `with` calls of an object at its begin and at its end, if the source of its class is at hand."""
        called = isinstance(context, cst.Call)
        info = self._classes.instance_of(context) if called else self.objects.class_of(context)
        made = context if isinstance(context, cst.Call) else self._maker(context)
        found = [info.method(name) if info is not None else None for name in ("__enter__", "__exit__")]
        callees = [self._callee(each, path_of(context) or "manager", made) for each in found if each is not None]
        enter, leave = callees if len(callees) == 2 else (None, None)
        return (enter, leave) if enter is not None and leave is not None else None

    def callers(self, function: cst.CSTNode | None) -> list[cst.Call]:
        """The calls in the file that run a function, from outside of it."""
        if not isinstance(function, cst.FunctionDef):
            return []
        known = self._callers.get(id(function))
        if known is None:
            known = self._callers[id(function)] = function, [*self._found_callers(function)]
        return known[1]

    def _found_callers(self, function: cst.FunctionDef) -> Iterator[cst.Call]:
        name = function.name.value
        is_called_so = name not in _CALLED and self._tree.root(function) is self._tree.module
        for call in self._roles.flow.calls(name) if is_called_so else self._tree.find(cst.Call):
            callee = self.of(call)
            if callee is not None and callee.node is function is not self._tree.enclosing(call, cst.FunctionDef):
                yield call

    def _of(self, call: cst.Call, inside: cst.CSTNode, abroad: bool) -> Callee | None:
        func = call.func
        if type(func) is cst.Name:
            found = self._named(func, inside, abroad)
            if found is not None:
                return found
            return self._instance_method(func, _CALLED, func.value, abroad)
        if isinstance(func, cst.Attribute):
            return self._attribute(func, inside, abroad)
        return None

    def _named(self, func: cst.Name, inside: cst.CSTNode, abroad: bool) -> Callee | None:
        found = self._names.function_of(self._lookup(func.value, inside))
        if found is not None:
            return self._callee(found)
        return self._imported(func) if abroad else None

    def _imported(self, func: cst.BaseExpression) -> Callee | None:
        found = self._imports.defined(func)
        return self._callee(found) if type(found) is cst.FunctionDef else None

    def _lookup(self, name: str, inside: cst.CSTNode) -> list[Binding]:
        """What binds a name for code in the function `inside`."""
        for scope in (inside, *self._tree.ancestors(inside)):
            if isinstance(scope, (cst.FunctionDef, cst.Module)):
                bindings = self._names.bindings_in(scope).get(name)
                if bindings:
                    return bindings
        return []

    def _attribute(self, func: cst.Attribute, inside: cst.CSTNode, abroad: bool) -> Callee | None:
        method, base = func.attr.value, func.value
        owner = self._classes.owner(inside)
        if owner is not None and path_of(base) == "self":
            found = owner.method(method)
            if found is not None:
                return self._callee(found, "self")
            return self._instance_method(func, _CALLED, f"self.{method}", abroad)
        if owner is not None and isinstance(base, cst.Call) and path_of(base.func) == "super":
            parents = [info.method(method) for info in owner.bases]
            found = next((parent for parent in parents if parent is not None), None)
            return self._callee(found, "self") if found is not None else None
        if owner is not None and path_of(base) == "cls":
            found = owner.unbound(method)
            return self._callee(found, "cls") if found is not None else None
        through = self._instance_method(base, (method,), path_of(base), abroad) or self._of_class(base, method, abroad)
        return through or (self._imported(func) if abroad else None)

    def _of_class(self, base: cst.BaseExpression, method: str, abroad: bool) -> Callee | None:
        """The static or class method that a call by the name of its class runs (`Trainer.finish(scaler)`)."""
        path = path_of(base)
        info = self._classes.named(base, abroad) if path.rpartition(".")[2][:1].isupper() else None
        found = info.unbound(method) if info is not None else None
        return self._callee(found, path) if found is not None else None

    def _instance_method(
        self, instance: cst.BaseExpression, methods: tuple[str, ...], path: str, abroad: bool
    ) -> Callee | None:
        """The method that a call on an instance of a class whose source is at hand runs; also `abroad`, in another file."""
        found = self.objects.method_of(instance, methods, abroad) if path else None
        return self._callee(found, path, self._maker(instance)) if found is not None else None

    def _maker(self, instance: cst.BaseExpression) -> cst.Call | None:
        """The only call that makes an object."""
        values = self.objects.held(instance)
        return values[0] if len(values) == 1 and isinstance(values[0], cst.Call) else None

    def _callee(
        self, node: cst.FunctionDef, receiver: str | None = None, made: cst.Call | None = None
    ) -> Callee | None:
        key = self._enter(node)
        return Callee(key, node, receiver, made) if key is not None else None


@lru_cache(maxsize=1024)
def _is_worth_following(word: str) -> bool:
    """Whether a word says that a call has to do with training."""
    return _WORTH_FOLLOWING.search(word) is not None
