"""The dtype flow into functions: what a call gives, and which parameter gets what."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.dtypes.expressions import CONSTANTS
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.layers_elsewhere import LayersElsewhere
from amplint.dtypes.literals import joined
from amplint.dtypes.number_parameters import NumberParameters
from amplint.dtypes.tensor_calls import TensorCalls
from amplint.dtypes.texts import flag_of
from amplint.dtypes.values import (
    UNKNOWN,
    Arguments,
    Closure,
    GivenText,
    Items,
    Number,
    Record,
    Tensor,
    Value,
)
from amplint.roles.autocast_contexts import Contexts
from amplint.syntax.names import Names, dotted
from amplint.syntax.tree import Tree

_NONE_WRITTEN = Arguments(written=True)


class ArgumentPassing(TensorCalls):
    """Reads arguments, and binds them to parameters.

    Args:
        tree: the file.
        names: what its names mean.
        contexts: the autocast regions that it enters.
        budget: how many expressions may be evaluated.
        layers_elsewhere: tells the modules of PyTorch that other files make; None where that does not matter.
    """

    def __init__(
        self, tree: Tree, names: Names, contexts: Contexts, budget: int, layers_elsewhere: LayersElsewhere | None
    ) -> None:
        super().__init__(tree, names, contexts, budget)
        self._numbers, self.layers_elsewhere = NumberParameters(tree), layers_elsewhere

    def arguments_of(self, args: Sequence[cst.Arg], frame: StackFrame) -> Arguments:
        """What a call is given.

        Args:
            args: the arguments, as they are written.
            frame: where evaluation stands.
        """
        if not args:
            return _NONE_WRITTEN
        nodes: list[cst.BaseExpression] = []
        values: list[Value] = []
        spread: list[Value] = []
        named: dict[str, cst.BaseExpression] = {}
        constants: dict[cst.BaseExpression, str] = {}
        keywords: dict[str, Value] = {}
        for arg in args:
            value = self.evaluate(arg.value, frame)
            if said := self.constant(arg.value, frame):
                constants[arg.value] = said
            if arg.keyword is not None:
                named[arg.keyword.value], keywords[arg.keyword.value] = arg.value, value
            elif arg.star == "**" and isinstance(value, Record):
                keywords |= dict(value.fields)
                spread += () if value.rest is None else (value.rest,)
            elif arg.star or spread:  # what comes after a `*` may have any position
                spread.append(value)
            else:
                nodes.append(arg.value)
                values.append(value)
        if spread or any(arg.star == "*" for arg in args):
            keywords["*"] = Items(tuple(spread))
        return Arguments(tuple(nodes), tuple(values), keywords, named, constants, written=True)

    def bind(
        self, node: cst.FunctionDef | cst.Lambda, function: Closure, arguments: Arguments, frame: StackFrame
    ) -> None:
        """Let the parameters of a function hold what a call gives to them.

        Args:
            node: the function.
            function: the same, with the object that it is bound to.
            arguments: what the call gives.
            frame: that of the function's body; its variables change, and what it knows to be left out.
        """
        static = isinstance(node, cst.FunctionDef) and any(
            dotted(decorator.decorator) == "staticmethod" for decorator in node.decorators
        )
        values: list[Value] = [*arguments.values]
        nodes: list[cst.BaseExpression | None] = [*arguments.nodes]
        if function.bound is not None and not static:
            values.insert(0, function.bound)
            nodes.insert(0, None)
        params = [*node.params.posonly_params, *node.params.params]
        is_spread = "*" in arguments.keywords
        is_written = arguments.written  # and no root, which may be given anything
        named, elsewhere = [*params, *node.params.kwonly_params], self.layers_elsewhere
        for position, param in enumerate(named):
            name = param.name.value
            node_given = (
                nodes[position] if position < min(len(params), len(nodes)) else arguments.keyword_nodes.get(name)
            )
            if node_given is not None and (said := arguments.constants.get(node_given, "")):
                frame.constants |= {(name, said)}
            if position < len(params) and position < len(values):
                frame.variables[name] = values[position]
            elif name in arguments.keywords:
                frame.variables[name] = arguments.keywords[name]
            elif not is_written and elsewhere is not None and (layer := elsewhere.given(param)) is not None:
                frame.variables[name] = layer
            elif param.default is not None and not is_spread:
                frame.variables[name] = self.evaluate(param.default, frame.parent or frame)
                flag = flag_of(param.default) if is_written and _makes_object(node) else None
                frame.variables[name] = flag or frame.variables[name]
                if is_written and dotted(param.default) in CONSTANTS:
                    frame.constants |= {(name, dotted(param.default))}
                elif is_written and isinstance(param.default, cst.SimpleString):
                    frame.variables[name] = GivenText(str(param.default.evaluated_value))
            else:
                known = Number() if self._numbers.holds(param, node) else None
                frame.variables[name] = known or _one_of(arguments.spread, param)
        if type(node.params.star_arg) is cst.Param:
            rest = Items(tuple(values[len(params) :])) if not is_spread else UNKNOWN
            frame.variables[node.params.star_arg.name.value] = rest
        if node.params.star_kwarg is not None:
            taken = {param.name.value for param in named} | {"*"}
            left = tuple((name, value) for name, value in arguments.keywords.items() if name not in taken)
            frame.variables[node.params.star_kwarg.name.value] = Record(left, UNKNOWN if is_spread else None)


def _makes_object(function: cst.FunctionDef | cst.Lambda) -> bool:
    return isinstance(function, cst.FunctionDef) and function.name.value == "__init__"


def _one_of(spread: tuple[Value, ...], param: cst.Param) -> Tensor:
    """What a parameter without a default holds that must be among what is spread out, if all of that is alike."""
    elements = [each for value in spread for each in (value.items if isinstance(value, Items) else (value,))]
    value = joined(elements) if elements and param.default is None else UNKNOWN
    return value if isinstance(value, Tensor) and value.dtype != UNKNOWN.dtype else Tensor(made=param)
