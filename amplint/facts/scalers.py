"""The scalers of a file: where each is made, and where it is used."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.model.events import ObjectFacts
from amplint.model.torch import names as torch_names
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.nodes import is_reference


class Scalers:
    """The scalers that one file makes."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._tree, self._names, self._roles = file.tree, file.names, file.roles

    @cached_property
    def made(self) -> tuple[tuple[cst.Call, ObjectFacts], ...]:
        """Every call that constructs a scaler, in source order, with what its arguments say."""
        local = self._file.classes.by_name
        named = ((call, called_name(call)) for call in self._tree.find(cst.Call))
        likely = (
            call
            for call, name in named
            if "scaler" in name.lower() or name in local or self._names.any_in(call.func, torch_names.GRAD_SCALER)
        )
        calls = ((call, self._roles.made_by(call)) for call in likely)
        return tuple(
            (call, facts)
            for call, facts in calls
            if facts is not None and facts.role == "scaler" and facts.made and not self._names.constants.leave_out(call)
        )

    @cached_property
    def made_by_helpers(self) -> tuple[tuple[cst.Call, ObjectFacts], ...]:
        """Every call of a function in sight that makes a scaler and gives it back, by a name that says so, in source order."""
        named = (call for call in self._tree.find(cst.Call) if "scaler" in called_name(call).lower())
        likely = (call for call in named if self._makes_anew(self._roles.flow.called(call)))
        calls = ((call, self._roles.returned_by(call)) for call in likely)
        return tuple(
            (call, facts) for call, facts in calls if facts is not None and facts.role == "scaler" and facts.made
        )

    def _makes_anew(self, function: cst.FunctionDef | None) -> bool:
        """Whether a function keeps nothing of what it gives back, so that each call makes another."""
        if function is None or function.decorators:
            return False
        own = self._names.bindings_in(function)
        given = [path_of(each) for each in self._roles.flow.returned(function) if type(each) is not cst.Call]
        return all(path in own and len(own[path]) == 1 and own[path][0].value is not None for path in given)

    def first_choice(self, made: cst.Call) -> cst.Call:
        """The first of the calls of which, branch by branch, one makes the scaler that `made` makes."""
        return next((call for call, _ in self.made if call is made or self._is_alternative(call, made)), made)

    def _is_alternative(self, call: cst.Call, other: cst.Call) -> bool:
        """Whether two calls stand in different branches, and what they make gets the same name."""
        around = set(self._tree.ancestors(other))
        common = next((above for above in self._tree.ancestors(call) if above in around), None)
        if isinstance(common, cst.IfExp):
            return True
        return isinstance(common, (cst.If, cst.Try, cst.Match)) and self._name_of(call) == self._name_of(other) != ""

    def _name_of(self, made: cst.Call) -> str:
        assign = self._tree.enclosing(made, cst.Assign)
        named = isinstance(assign, cst.Assign) and assign.value is made and len(assign.targets) == 1
        return path_of(assign.targets[0].target) if isinstance(assign, cst.Assign) and named else ""

    def uses(self, made: cst.Call) -> list[cst.BaseExpression]:
        """The expressions that name the object which a call makes, and which a method is called on, or which are arguments."""
        around = (made, *self._tree.ancestors(made))
        found = {id(use): use for value in around for use in self._uses.get(id(value), ())}
        return sorted(found.values(), key=self._tree.order)

    @cached_property
    def _uses(self) -> dict[int, list[cst.BaseExpression]]:
        """The expressions that name a scaler, and which a method is called on, or which are arguments, by what they may be."""
        given = [arg.value for call in self._tree.find(cst.Call) for arg in call.args]
        bases = [call.func.value for call in self._tree.find(cst.Call) if isinstance(call.func, cst.Attribute)]
        found: dict[int, list[cst.BaseExpression]] = {}
        for node in (*bases, *given):
            if is_reference(node) and self._roles.of(node).role == "scaler":
                for value in self._roles.values(node):
                    found.setdefault(id(value), []).append(node)
        return found
