"""Which arguments a parameter gets: the calls of a function that can be seen, in the file itself and in its own module."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.syntax.access_paths import path_of
from amplint.syntax.bindings import targets
from amplint.syntax.classes import Classes
from amplint.syntax.names import Names
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree


class PassedArguments:
    """The arguments that are given to the functions of one file, and of those that it leads to.

    Args:
        tree: the file.
        names: what its names mean.
        classes: its classes, whose methods are called.
        imports: leads to the functions of other files.
        abroad: whether what the file gives to functions of other files counts; without, those are seen as they see themselves.
    """

    def __init__(self, tree: Tree, names: Names, classes: Classes, imports: Imports, abroad: bool = True) -> None:
        self._tree = tree
        self._names = names
        self._classes = classes
        self._imports = imports
        self._abroad = abroad
        self._calls: dict[cst.Module, dict[str, list[cst.Call]]] = {}
        self._running: dict[cst.FunctionDef, list[cst.Call]] = {}
        self._given: dict[cst.Param, list[cst.BaseExpression]] = {}

    def of(self, param: cst.Param) -> list[cst.BaseExpression]:
        """What the calls in sight give to a parameter; other files may call the function, too."""
        if param not in self._given:
            function = self._tree.enclosing(param, cst.FunctionDef)
            self._given[param] = list(self._given_to(function, param)) if isinstance(function, cst.FunctionDef) else []
        return self._given[param]

    def _given_to(self, function: cst.FunctionDef, param: cst.Param) -> Iterator[cst.BaseExpression]:
        for call in self.calls_of(function):
            given = given_by(call, function, param.name.value)
            if given is not None:
                yield given

    def calls_of(self, function: cst.FunctionDef) -> list[cst.Call]:
        """The calls in sight that run a function."""
        if function not in self._running:
            self._running[function] = self._calls_of(function)
        return self._running[function]

    def _calls_of(self, function: cst.FunctionDef) -> list[cst.Call]:
        name = function.name.value
        owner = self._tree.enclosing(function, cst.FunctionDef, cst.ClassDef)
        if isinstance(owner, cst.ClassDef) and name == "__init__":
            name = owner.name.value
        return [call for call in self._named(name, function) if self._may_run(call, function)]

    def _may_run(self, call: cst.Call, function: cst.FunctionDef) -> bool:
        """Whether a call runs a function, by its name, or by one that a condition gives to it or to another function."""
        chosen = chosen_by_a_condition(call, self._names)
        sides = (chosen.body, chosen.orelse) if chosen is not None else ()
        return self.called(call) is function or any(self._function(each) is function for each in sides)

    def called(self, call: cst.Call) -> cst.FunctionDef | None:
        """The function in sight that a call runs; None when that cannot be told."""
        func = call.func
        if type(func) is cst.Attribute and type(func.value) is cst.Name and func.value.value == "self":
            info = self._classes.owner(call)
            return info.method(func.attr.value) if info is not None else None
        info = self._classes.instance_of(call)
        if info is not None:
            return info.method("__init__")
        return self._function(func)

    def _function(self, named: cst.BaseExpression) -> cst.FunctionDef | None:
        """The function that an expression names."""
        found = self._names.function(named) or self._imports.defined(named)
        return found if type(found) is cst.FunctionDef else None

    def _named(self, name: str, function: cst.FunctionDef) -> Iterator[cst.Call]:
        """The calls by a name, in the file itself and in the one that defines the function."""
        home = self._tree.root(function)
        for root in dict.fromkeys((self._tree.module, home) if self._abroad else (home,)):
            yield from self._by_name(root).get(name, ())

    def _by_name(self, root: cst.Module) -> dict[str, list[cst.Call]]:
        if root not in self._calls:
            found = self._calls[root] = {}
            chosen = {
                path_of(target)
                for choice in self._tree.find(cst.IfExp, around=root)
                if isinstance(assign := self._tree.parent(choice), cst.Assign)
                for target in targets(assign)
            }
            for call in self._tree.find(cst.Call, around=root):
                last = call.func.attr if type(call.func) is cst.Attribute else call.func
                if isinstance(last, cst.Name):
                    found.setdefault(last.value, []).append(call)
                if type(call.func) is cst.Name and call.func.value in chosen:
                    choice = chosen_by_a_condition(call, self._names)
                    sides = (choice.body, choice.orelse) if choice is not None else ()
                    for each in sides:
                        found.setdefault(path_of(each).rpartition(".")[2], []).append(call)
        return self._calls[root]


def chosen_by_a_condition(call: cst.Call, names: Names) -> cst.IfExp | None:
    """What a name that is called was given, if that is one of two things with names: `train = pretrain if early else finetune`.

    Args:
        call: the call.
        names: what the names of the file mean.
    """
    bound = names.bindings(call.func.value, call.func) if type(call.func) is cst.Name else []
    value = bound[0].value if len(bound) == 1 else None
    return value if isinstance(value, cst.IfExp) and path_of(value.body) and path_of(value.orelse) else None


def given_by(call: cst.Call, function: cst.FunctionDef, name: str) -> cst.BaseExpression | None:
    """What a call gives to a parameter of the function that it runs; None for nothing, and where it unpacks arguments.

    A method is taken to be called on an object: its first parameter is called `self` or `cls`.

    Args:
        call: the call.
        function: what it runs.
        name: the parameter.
    """
    params = [each.name.value for each in (*function.params.posonly_params, *function.params.params)]
    free = iter(params[1:] if params[:1] in (["self"], ["cls"]) else params)
    for arg in call.args:
        if arg.star:
            return None
        if (arg.keyword.value if arg.keyword is not None else next(free, "")) == name:
            return arg.value
    return None


def params_of(function: cst.FunctionDef) -> list[cst.Param]:
    """The named parameters of a function, without `*args` and `**kwargs`."""
    params = function.params
    return [*params.posonly_params, *params.params, *params.kwonly_params]
