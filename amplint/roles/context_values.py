"""What stands behind an expression that `with` enters, or that makes what it enters: one step back at a time.

A context, or the class that makes it, goes many ways before it is entered: a conditional expression, `or` or a table
chooses it, a variable, an attribute or a property of an object holds it, a parameter takes it from callers or has it as
its default, another file defines it.
"""

from __future__ import annotations

import libcst as cst

from amplint.syntax.access_paths import called_name, elements, literal_key
from amplint.syntax.bindings import unpacked
from amplint.syntax.call_arguments import PassedArguments
from amplint.syntax.classes import Classes, ClassInfo
from amplint.syntax.names import LOCAL, Binding, Names, dotted
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree

_PROPERTIES = frozenset({"builtins.property", "functools.cached_property"})
_MOST = 8
"""What may be more things than this is unknown."""


class ContextValues:
    """The values of one file among which its contexts are.

    Args:
        tree: the file.
        names: what its names mean.
        classes: its classes, whose attributes and properties may hold contexts.
        imports: leads to contexts of other files.
        abroad: whether the functions of other files know what this file gives them.
    """

    def __init__(self, tree: Tree, names: Names, classes: Classes, imports: Imports, abroad: bool) -> None:
        self._tree, self._names, self._classes, self._imports = tree, names, classes, imports
        self._arguments = PassedArguments(tree, names, classes, imports, abroad)
        self._known: dict[int, tuple[cst.CSTNode, list[cst.BaseExpression]]] = {}
        self._asked: list[cst.BaseExpression] = []

    def behind(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What an expression may be, one step back; empty when something unknown is among it, and for all that is no choice
        and no name."""
        known = self._known.get(id(node))
        if known is None:
            self._known[id(node)] = node, []  # stands while it is worked out: `a, b = a.parts()` leads back here
            found = self._behind(node)
            known = self._known[id(node)] = node, found if len(found) <= _MOST else []
        return known[1]

    def _behind(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        match node:
            case cst.IfExp():
                return self._names.constants.sides(node)
            case cst.BooleanOperation(operator=cst.And()):
                return [node.right]  # a context is true, and a flag that is not is nothing to enter
            case cst.BooleanOperation():
                return [node.left, node.right]
            case cst.NamedExpr():
                return [node.value]
            case cst.Name():
                return self._bound(self._names.bindings(node.value, node))
            case cst.Subscript() | cst.Call():
                return self._from_table(node)
            case cst.Attribute():
                owner = self.owner(node.value)
                if owner is not None:
                    return owner.values(node.attr.value) or self._property(owner.method(node.attr.value))
                return self._elsewhere(node)
        return []

    def _from_table(self, node: cst.Subscript | cst.Call) -> list[cst.BaseExpression]:
        """What a table holds under a key, or under any: `TABLE["bf16"]`, `TABLE[precision]`, `TABLE.get(precision, default)`."""
        default: list[cst.BaseExpression] = []
        if isinstance(node, cst.Subscript):
            table, key = node.value, literal_key(node)
        elif isinstance(node.func, cst.Attribute) and called_name(node) == "get" and node.args:
            table, key, default = (
                node.func.value,
                literal_key(node.args[0].value),
                [arg.value for arg in node.args[1:2]],
            )
        else:
            return []
        displays = [table] if isinstance(table, cst.Dict) else self.behind(table)
        if len(displays) != 1 or not isinstance(displays[0], cst.Dict):
            return []
        held = displays[0].elements
        if any(isinstance(each, cst.StarredDictElement) for each in held):
            return []
        found = [each.value for name, each in elements(displays[0]) if not key or name == key]
        return [*found, *default] if found else []

    def owner(self, instance: cst.BaseExpression) -> ClassInfo | None:
        """The class of the object that an expression names, if its source is at hand: of `self`, and of what is made once."""
        if dotted(instance) == "self":
            return self._classes.owner(instance)
        if not isinstance(instance, (cst.Name, cst.Attribute)):
            return None
        made = [each for each in self.behind(instance) if dotted(each) != "None"]
        return self._class_of(made[0]) if len(made) == 1 else None

    def _class_of(self, made: cst.BaseExpression) -> ClassInfo | None:
        """The class of what a call makes, or the function which it runs has made once, or of an object that has another name."""
        info = self._classes.instance_of(made)
        if info is not None or made in self._asked:
            return info
        self._asked.append(made)  # `x = x.copy()` leads back here
        given = [made] if isinstance(made, (cst.Name, cst.Attribute)) else self.returned(made)
        infos = [self._classes.instance_of(each) or self.owner(each) for each in given]
        self._asked.pop()
        return infos[0] if len(infos) == 1 else None

    def function(self, func: cst.BaseExpression) -> cst.FunctionDef | None:
        """The function or method of the project that an expression names."""
        if type(func) is cst.Name and self._names.resolve(func) == {f"{LOCAL}.{func.value}"}:
            return self._names.function(func)
        owner = self.owner(func.value) if isinstance(func, cst.Attribute) else None
        if isinstance(func, cst.Attribute) and owner is not None:
            return owner.method(func.attr.value)
        found = self._imports.defined(func)
        return found if type(found) is cst.FunctionDef else None

    def given_back(self, function: cst.FunctionDef) -> list[cst.BaseExpression]:
        """What a function may return."""
        statements = self._tree.inside(function, cst.Return)
        own = (each.value for each in statements if self._tree.enclosing(each, cst.FunctionDef) is function)
        return [value for value in own if value is not None]

    def returned(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What a call of a function of the project gives back; empty for anything else, and where that may be None, which whoever
        calls it may take for a sign."""
        function = self.function(node.func) if isinstance(node, cst.Call) else None
        if function is None or function.decorators or function.asynchronous is not None:
            return []
        given = self.given_back(function) if not self._tree.inside(function, cst.Yield) else []
        return [] if any(isinstance(each, cst.Name) and each.value == "None" for each in given) else given

    def _bound(self, bindings: list[Binding]) -> list[cst.BaseExpression]:
        found: list[cst.BaseExpression] = []
        for binding in bindings:
            if binding.value is not None:
                values = [binding.value]
            elif isinstance(binding.node, cst.Param):
                values = self._given(binding.node)
            else:
                values = self._shared_out(binding.node) or self._imported(binding.qualified)
            if not values:
                return []
            found += values
        return found

    def _shared_out(self, target: cst.CSTNode | None) -> list[cst.BaseExpression]:
        """What a function of the project gives to one of several names: to `ctx` in `ctx, scaler = parts()`."""
        assign = self._tree.enclosing(target, cst.Assign) if isinstance(target, cst.Name) else None
        match assign:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple() as pattern)], value=cst.Call(func=func)):
                function = self.function(func)
                places = [at for at, each in enumerate(pattern.elements) if each.value is target]
            case _:
                return []
        if function is None or not places or self._tree.inside(function, cst.Yield):
            return []
        found = [unpacked(pattern, value)[places[0]] for value in self.given_back(function)]
        return [each for each in found if each is not None] if None not in found else []

    def given(self, name: cst.Name) -> list[cst.BaseExpression]:
        """What the calls in sight give to the parameter that a name is; empty for other names, and where none gives anything."""
        params = [each.node for each in self._names.bindings(name.value, name)]
        found = [self._arguments.of(each) if isinstance(each, cst.Param) else [] for each in params]
        return [value for each in found for value in each] if all(found) else []

    def _given(self, param: cst.Param) -> list[cst.BaseExpression]:
        """What the calls in sight give to a parameter, and its default."""
        return [*self._arguments.of(param), *([param.default] if param.default is not None else ())]

    def _elsewhere(self, node: cst.Attribute) -> list[cst.BaseExpression]:
        meanings = self._names.resolve(node)
        return self._imported(next(iter(meanings))) if len(meanings) == 1 else []

    def _imported(self, qualified: str) -> list[cst.BaseExpression]:
        """What another file of the project assigns to a name, or imports under it."""
        if not qualified or qualified.startswith(f"{LOCAL}."):
            return []
        bindings = self._imports.bindings(qualified)
        values = [each.value for each in bindings if each.value is not None]
        return values if len(values) == len(bindings) else []

    def _property(self, method: cst.FunctionDef | None) -> list[cst.BaseExpression]:
        if method is None or not any(self._names.any_in(each.decorator, _PROPERTIES) for each in method.decorators):
            return []
        statements = self._tree.inside(method, cst.Return)
        return [each.value for each in statements if each.value is not None]
