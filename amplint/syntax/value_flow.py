"""Where values come from, and where they go: the one service for whoever follows a value through a file.

Forwards, `use` says what is done with the value of an expression, one step at a time (`amplint.syntax.value_uses`). Backwards,
`values` are what a name or an attribute may have been assigned. Of a variable, `reads`, `mentions`, `assigned`, `put` and
`changes` are the places in its function that read it, speak of it, bind it, bind an element of it, and change it.

The order in which statements run counts only where a method says so: a variable may hold whatever its function ever assigns to
it. What is not understood is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.bindings import is_loaded, targets, unpacked
from amplint.syntax.call_arguments import PassedArguments
from amplint.syntax.classes import Classes
from amplint.syntax.names import Names, dotted
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree
from amplint.syntax.value_uses import ValueUses

Changing = cst.Assign | cst.AnnAssign | cst.AugAssign | cst.NamedExpr


class ValueFlow(ValueUses):
    """The values of one file, and of those that it leads to.

    Args:
        tree: the file.
        names: what its names mean.
        classes: its classes, whose attributes hold values.
        imports: leads to values of other files.
        arguments: what calls in sight give to parameters.
    """

    def __init__(
        self, tree: Tree, names: Names, classes: Classes, imports: Imports, arguments: PassedArguments
    ) -> None:
        super().__init__(tree)
        self._names, self._classes, self._imports = names, classes, imports
        self._arguments = arguments
        self._mentions: dict[cst.Module, dict[tuple[cst.CSTNode | None, str], list[cst.BaseExpression]]] = {}
        self._changes: dict[cst.Module, dict[tuple[cst.CSTNode | None, str], list[Changing]]] = {}

    def calls(self, name: str) -> list[cst.Call]:
        """The calls in the file of what goes by a name, on whatever object."""
        return self._calls.get(name, [])

    def calls_of(self, function: cst.FunctionDef) -> list[cst.Call]:
        """The calls in sight of a function: in the file, of what goes by its name; of one of another file, those that run it,
        or else those in its own file of what goes by its name."""
        name, root = function.name.value, self._tree.root(function)
        if root is self._tree.module:
            return self.calls(name)
        return self._arguments.calls_of(function) or [
            call for call in self._tree.find(cst.Call, around=root) if called_name(call) == name
        ]

    def methods(self, name: str) -> list[tuple[cst.Call, cst.BaseExpression]]:
        """The calls in the file of methods of a name, each with the object."""
        return [(call, call.func.value) for call in self.calls(name) if isinstance(call.func, cst.Attribute)]

    @cached_property
    def _calls(self) -> dict[str, list[cst.Call]]:
        found: dict[str, list[cst.Call]] = {}
        for call in self._tree.find(cst.Call):
            found.setdefault(called_name(call), []).append(call)
        return found

    # -- variables -------------------------------------------------------------------------------------------------

    def mentions(self, path: str, at: cst.CSTNode) -> list[cst.BaseExpression]:
        """The expressions with an access path in one function, in source order.

        Args:
            path: the access path, such as `self.scaler`.
            at: any node in the function.
        """
        root = self._tree.root(at)
        if root not in self._mentions:
            self._mentions[root] = self._mentions_in(root)
        return self._mentions[root].get((self._tree.function(at), path), [])

    def _mentions_in(self, root: cst.Module) -> dict[tuple[cst.CSTNode | None, str], list[cst.BaseExpression]]:
        found: dict[tuple[cst.CSTNode | None, str], list[cst.BaseExpression]] = {}
        kinds: tuple[type[cst.BaseExpression], ...] = (cst.Name, cst.Attribute, cst.Subscript)
        nodes = [node for kind in kinds for node in self._tree.find(kind, around=root)]
        for node in sorted(nodes, key=self._tree.order):
            parent, path = self._tree.parent(node), path_of(node)
            spells = parent.attr if type(parent) is cst.Attribute else getattr(parent, "keyword", None)
            if path and spells is not node:
                found.setdefault((self._tree.function(node), path), []).append(node)
        return found

    def reads(self, path: str, at: cst.CSTNode) -> list[cst.BaseExpression]:
        """Those of the mentions that are evaluated.

        Args:
            path: the access path.
            at: any node in the function.
        """
        return [each for each in self.mentions(path, at) if is_loaded(self._tree, each)]

    def assigned(self, path: str, at: cst.CSTNode) -> list[Changing]:
        """The assignments to a variable in one function, in source order.

        Args:
            path: the access path of the variable.
            at: any node in the function.
        """
        return [each for each in self._changing(path, at) if type(each) is not cst.AugAssign]

    def changes(self, path: str, at: cst.CSTNode) -> list[cst.AugAssign]:
        """The statements of one function that add to a variable, multiply it, and so on.

        Args:
            path: the access path of the variable.
            at: any node in the function.
        """
        return [each for each in self._changing(path, at) if type(each) is cst.AugAssign]

    def _changing(self, path: str, at: cst.CSTNode) -> list[Changing]:
        root = self._tree.root(at)
        if root not in self._changes:
            self._changes[root] = self._changes_in(root)
        return self._changes[root].get((self._tree.function(at), path), [])

    def _changes_in(self, root: cst.Module) -> dict[tuple[cst.CSTNode | None, str], list[Changing]]:
        """What assigns to a whole variable, or changes it, by function and access path."""
        found: dict[tuple[cst.CSTNode | None, str], list[Changing]] = {}
        kinds: tuple[type[Changing], ...] = (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr)
        statements = [each for kind in kinds for each in self._tree.find(kind, around=root)]
        pairs = [(target, each) for each in statements for target in targets(each) if path_of(target)]
        for target, each in sorted(pairs, key=lambda pair: self._tree.order(pair[0])):
            found.setdefault((self._tree.function(target), path_of(target)), []).append(each)
        return found

    def put(self, path: str, at: cst.CSTNode) -> Iterator[tuple[cst.Subscript, cst.BaseExpression]]:
        """The elements of a variable that its function assigns, `path[key] = value`: each with its value.

        Args:
            path: the access path of the variable.
            at: any node in the function.
        """
        for node in self.mentions(path, at):
            element = self._tree.parent(node)
            target = self._tree.parent(element) if type(element) is cst.Subscript else None
            assign = self._tree.parent(target) if type(target) is cst.AssignTarget else None
            if type(element) is cst.Subscript and element.value is node and type(assign) is cst.Assign:
                yield element, assign.value

    # -- backwards -------------------------------------------------------------------------------------------------

    def values(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """What may be assigned to a name, an attribute of `self` or of an imported module, or an element of any of these."""
        while type(node) is cst.Subscript:
            node = node.value
        if type(node) is cst.Name:
            for binding in self._names.bindings(node.value, node):
                if binding.value is not None:
                    yield binding.value
                elif type(binding.node) is cst.ImportAlias:
                    yield from self._elsewhere(binding.qualified)
                elif type(binding.node) is cst.Name:
                    yield from self._unpacked(binding.node)
        elif type(node) is cst.Attribute and dotted(node.value) == "self":
            owner = self._classes.owner(node)
            for value in owner.values(node.attr.value) if owner is not None else ():
                yield from self._part_of_tuple(value, node)
        elif type(node) is cst.Attribute:
            for meaning in self._names.resolve(node):
                yield from self._elsewhere(meaning)
            assigned = self.assigned(path_of(node), node) if path_of(node) else ()
            yield from (each.value for each in assigned if each.value is not None)

    def _elsewhere(self, qualified: str) -> Iterator[cst.BaseExpression]:
        """What another file of the project assigns to a name."""
        return (each.value for each in self._imports.bindings(qualified) if each.value is not None)

    def _unpacked(self, target: cst.Name) -> Iterator[cst.BaseExpression]:
        """The call that targets are unpacked from (`model, optimizer = accelerator.prepare(...)`), or `with` enters; of a call
        of a function at hand that returns a tuple, the element that this target gets."""
        binder = self._tree.enclosing(target, cst.Assign, cst.For, cst.CompFor, cst.WithItem, cst.FunctionDef)
        match binder:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() as pattern)], value=cst.Call() as call):
                elements = list(self._elements_returned(call, pattern, target))
                yield from elements or [call]
            case cst.Assign(value=cst.Call() as call) | cst.WithItem(item=cst.Call() as call):
                yield call

    def _part_of_tuple(self, value: cst.BaseExpression, attribute: cst.Attribute) -> Iterator[cst.BaseExpression]:
        """What an attribute of `self` gets of a value that its class assigns: of a call of a function at hand that returns a
        tuple for several targets, its element, else the call; nothing of what else is unpacked."""
        match self._tree.parent(value):
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() as pattern)], value=cst.Call() as call):
                path = path_of(attribute)
                own = [each.value for each in pattern.elements if path_of(each.value) == path]
                elements = [part for target in own for part in self._elements_returned(call, pattern, target)]
                yield from elements or [call]
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple())]):
                return
            case _:
                yield value

    def _elements_returned(
        self, call: cst.Call, pattern: cst.Tuple, target: cst.BaseExpression
    ) -> Iterator[cst.BaseExpression]:
        """What a call gives to one of several targets, where every tuple that it returns has as many elements, and what it
        returns besides is only named: that is for other calls."""
        places = [at for at, each in enumerate(pattern.elements) if each.value is target]
        function = self._arguments.called(call) if places else None
        if function is not None and self._classes.libraries.is_of_wrapper(function):
            returned = [value for value in [self._classes.libraries.returned(call)] if value is not None]
        else:
            returned = list(self.returned(function))
        parts = [unpacked(pattern, value)[at] for value in returned for at in places]
        if all(part is not None or type(value) is cst.Name for part, value in zip(parts, returned)):
            yield from (part for part in parts if part is not None)

    def meant(self, node: cst.BaseExpression | None) -> list[cst.BaseExpression]:
        """What may be assigned to what an expression names; the expression itself if it names nothing."""
        return [] if node is None else list(self.values(node)) if path_of(node) else [node]

    def last_value(self, name: cst.Name) -> cst.BaseExpression | None:
        """What a name was assigned last in its function before a place, in source order."""
        at, home = self._tree.order(name), self._tree.function(name)
        values = [each.value for each in self._names.bindings(name.value, name) if each.value is not None]
        here = [each for each in values if self._tree.function(each) is home and self._tree.order(each) < at]
        return max(here, key=self._tree.order, default=None)

    def given(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """What the calls in sight give to the parameter that a name stands for."""
        bindings = self._names.bindings(node.value, node) if type(node) is cst.Name else []
        if len(bindings) == 1 and isinstance(bindings[0].node, cst.Param):
            yield from self.given_to(bindings[0].node)

    def called(self, call: cst.Call) -> cst.FunctionDef | None:
        """The function in sight that a call runs; None when that cannot be told."""
        return self._arguments.called(call)

    def given_to(self, param: cst.Param) -> list[cst.BaseExpression]:
        """What the calls in sight give to a parameter."""
        return self._arguments.of(param)

    def sources(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """The same, also of other objects' attributes, with changes, what callers give, and what a property or helper returns."""
        yield from self.values(node)
        yield from self.given(node)
        if type(node) is cst.Name:
            for binding in self._names.bindings(node.value, node):
                change = self._tree.parent(binding.node) if binding.node is not None else None
                if type(change) is cst.AugAssign:
                    yield change.value
        elif isinstance(node, cst.Attribute):
            yield from self._of_attributes.get(node.attr.value, ())
            owner = self._classes.owner(node) if path_of(node.value) == "self" else None
            yield from self.returned(owner.method(node.attr.value) if owner is not None else None)
        elif isinstance(node, cst.Call):
            yield from self.returned(self._arguments.called(node))

    @cached_property
    def _of_attributes(self) -> dict[str, list[cst.BaseExpression]]:
        """What this file assigns to attributes, of whatever object, or changes them by, by their names."""
        found: dict[str, list[cst.BaseExpression]] = {}
        statements: list[cst.Assign | cst.AugAssign] = [*self._tree.find(cst.Assign), *self._tree.find(cst.AugAssign)]
        for statement in statements:
            for target in targets(statement):
                if type(target) is cst.Attribute:
                    found.setdefault(target.attr.value, []).append(statement.value)
        return found

    def returned(self, function: cst.FunctionDef | None) -> Iterator[cst.BaseExpression]:
        """What a function returns, without what the functions in it do."""
        for statement in self._tree.inside(function, cst.Return) if function is not None else ():
            if statement.value is not None and self._tree.function(statement) is function:
                yield statement.value
