"""The dtype flow of a file: all of it from top to bottom, and its functions as code of other files enters them."""

from __future__ import annotations

from collections.abc import Container, Iterator

import libcst as cst

from amplint.dtypes.expressions import OutOfBudget
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.lattice import unknown
from amplint.dtypes.shapes import value_of
from amplint.dtypes.statements import Statements
from amplint.dtypes.tensor_calls import no_result
from amplint.dtypes.values import (
    NO_ARGUMENTS,
    UNKNOWN,
    Arguments,
    Choice,
    Class,
    Closure,
    GivenFlag,
    GivenText,
    Instance,
    Items,
    Value,
)
from amplint.model.caller_contexts import CallerContext, Given, Target
from amplint.model.events import NO_GRAD, Region
from amplint.model.records import changed
from amplint.syntax.names import dotted


class FileFlow(Statements):
    """Follows the statements and the functions of one file; the top floor of the flow."""

    def whole_file(self, region: Region | None = None, apart: Container[cst.FunctionDef] = ()) -> None:
        """The module from top to bottom, then every function as if called from elsewhere.

        Args:
            region: that in which it is called.
            apart: the functions that are only followed where others call them.
        """
        self.top.regions = () if region is None else (region,)
        try:
            for statement in self.tree.module.body:
                self.follow(statement, self.top)
            self.top.alive = True
            for function in self.tree.find(cst.FunctionDef):
                if function not in apart:
                    self.enter(function)
        except OutOfBudget:
            # What was found so far holds on the paths that led to it; the rest of the file stays unjudged.
            return

    def enter_as(self, context: CallerContext) -> tuple[Value, ...]:
        """Follow a function as code of another file enters it.

        Returns:
            What it gives back, if the context asks for that: one value for each object that it may be called on.
        """
        regions = () if context.region is None else (context.region,)
        regions = regions if context.differentiates else (*regions, NO_GRAD)
        frame = StackFrame(self.tree.module, parent=self.top, regions=regions)
        values = {name: value_of(shape) for name, shape in context.arguments}
        count = max((int(name) + 1 for name in values if name.isdigit()), default=0)
        positions = tuple(values.get(str(index), UNKNOWN) for index in range(count))
        given = Arguments((), positions, {name: value for name, value in values.items() if not name.isdigit()})
        found = [each for each in self.tree.module.body if _defines(each, context.target.name)]
        node = found[0] if len(found) == 1 else None
        try:
            results = list(self._call_target(node, context.target, given, frame))
            for result in results:
                if context.loss:
                    self.reach(no_result(result) if context.normalised else result, frame)
            if context.asks and context.target.made and self._is_made_with_functions(node):
                results = list(self._call_target(node, context.target, given, frame, _ANY))
            return tuple(results) if context.asks else ()
        except OutOfBudget:
            return ()

    def _call_target(
        self, node: cst.CSTNode | None, target: Target, arguments: Arguments, frame: StackFrame,
        making: Arguments = NO_ARGUMENTS,
    ) -> Iterator[Value]:  # fmt: skip
        """Call the function that a target names; gives back what it returns, once for each object that it may be called on."""
        if not target.made:
            if isinstance(node, cst.FunctionDef):
                yield self._called(Closure(node, self.top), arguments, frame, target.name)
            return
        chosen = {name: self._of_constructor(value) for name, value in target.given}
        made = self._make(node, changed(making, keywords=making.keywords | chosen) if chosen else making)
        for one in made.options if isinstance(made, Choice) else (made,):
            if isinstance(one, Instance):
                info = self.classes.of(one.cls)
                names = [target.method] if target.method else ["__call__", "forward"]
                method = next(filter(None, map(info.method, names)), None)
                if method is not None:
                    yield self._called(Closure(method, None, one), arguments, frame, target.method or info.name)
            elif isinstance(one, Closure) and not target.method:
                yield self._called(one, arguments, frame, target.name)

    def _of_constructor(self, value: Given) -> Value:
        """What a constructor is given by a call in another file."""
        if isinstance(value, str):
            return GivenText(value)
        if isinstance(value, bool):
            return GivenFlag(value)
        (name,) = value
        found = (each for each in self.tree.module.body if _defines(each, name))
        return next((Class(each) for each in found if isinstance(each, cst.ClassDef)), UNKNOWN)

    def _called(self, function: Closure, arguments: Arguments, frame: StackFrame, name: str) -> Value:
        """What a function gives back to another file: what a decorator makes of that may be anything."""
        result = self.invoke(function, arguments, frame, name)
        decorators = function.node.decorators if isinstance(function.node, cst.FunctionDef) else ()
        called = (
            each.decorator.func if isinstance(each.decorator, cst.Call) else each.decorator for each in decorators
        )
        plain = all(meaning.startswith(_PLAIN) for each in called for meaning in self.names.resolve(each))
        return result if plain else unknown(result)

    def _make(self, node: cst.CSTNode | None, arguments: Arguments) -> Value:
        """The object that a class, or a function, makes when it is called."""
        if isinstance(node, cst.ClassDef):
            return self.construct(node, arguments, self.top)
        if isinstance(node, cst.FunctionDef):
            return self.invoke(Closure(node, self.top), arguments, self.top, "")
        return UNKNOWN

    def _is_made_with_functions(self, node: cst.CSTNode | None) -> bool:
        """Whether what makes an object has functions or classes as defaults, in the place of which it may be given others."""
        maker = self.classes.of(node).method("__init__") if isinstance(node, cst.ClassDef) else node
        if not isinstance(maker, cst.FunctionDef):
            return False
        params = (*maker.params.posonly_params, *maker.params.params, *maker.params.kwonly_params)
        written = (cst.BaseNumber, cst.BaseString, cst.Tuple, cst.List, cst.Dict)
        return any(
            not isinstance(each.default, written) and dotted(each.default) not in ("None", "True", "False")
            for each in params
            if each.default is not None
        )


_ANY = Arguments(keywords={"*": Items(())})
"""Arguments of which nothing is known, so that no default holds."""
_PLAIN = ("torch.", "builtins.", "functools.", "abc.", "typing.")
"""Decorators that give back what the function does, or a region around it."""


def _defines(statement: cst.CSTNode, name: str) -> bool:
    """Whether a statement of the module defines a function or a class of this name."""
    return isinstance(statement, (cst.FunctionDef, cst.ClassDef)) and statement.name.value == name
