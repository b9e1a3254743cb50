"""The dtype flow through calls: modules, classes and functions of the file, models that come from elsewhere."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from amplint.lowering.classes import Classes, ClassInfo
from amplint.lowering.contexts import Contexts
from amplint.lowering.dtypes import layers
from amplint.lowering.dtypes.expressions import joined
from amplint.lowering.dtypes.frames import Frame
from amplint.lowering.dtypes.tensor_calls import MODULES, Arguments, TensorCalls, no_result
from amplint.lowering.dtypes.values import (
    UNKNOWN,
    Class,
    Flow,
    Function,
    Instance,
    Items,
    Layer,
    Operation,
    Tensor,
    Value,
    tensors,
)
from amplint.lowering.names import Names, dotted
from amplint.lowering.tree import Tree
from amplint.model import precision

_MAX_DEPTH = 8
_LOSS = re.compile(r"loss|criterion", re.IGNORECASE)
_MODEL = re.compile(r"(?:^|_)(?:model|net|network|classifier|discriminator|generator|critic)(?:_|$)|^net[A-Z]$")
_BACKWARD = re.compile(r"backward$|scaler$")
_KEEPS_MODULE = {f"torch.nn.Module.{name}" for name in layers.SAME_MODULE}

_Key = tuple[object, ...]


class Calls(TensorCalls):
    """Evaluates calls; what a body does is left to the floor above."""

    def __init__(self, tree: Tree, names: Names, contexts: Contexts, classes: Classes, budget: int) -> None:
        super().__init__(tree, names, contexts, budget)
        self.classes = classes
        self.reached: dict[Operation, bool] = {}
        """The operations through which a loss is differentiated, and whether what follows cancels their derivative."""
        self._running: list[cst.CSTNode] = []
        self._results: dict[_Key, Value] = {}

    @abstractmethod
    def run(self, body: cst.BaseSuite, frame: Frame) -> None:
        """Follow the statements of a body."""

    # -- names -----------------------------------------------------------------------------------------------------

    def definition(self, node: cst.Name) -> Value | None:
        bindings = self.names.bindings(node.value, node)
        if len(bindings) != 1:
            return None
        found = bindings[0].node
        if isinstance(found, cst.FunctionDef):
            return Function(found)
        return Class(found) if isinstance(found, cst.ClassDef) else None

    def attribute_of(self, instance: Instance, name: str, frame: Frame) -> Value:
        if name in instance.attributes:
            return instance.attributes[name]
        method = self.classes.by_node[instance.cls].method(name)
        if method is None:
            return UNKNOWN
        bound = Function(method, None, instance)
        decorators = {dotted(decorator.decorator) for decorator in method.decorators}
        return self._invoke(bound, Arguments((), (), {}, {}), frame, "") if "property" in decorators else bound

    # -- calls -----------------------------------------------------------------------------------------------------

    def call(self, node: cst.Call, frame: Frame) -> Value:
        arguments = self._arguments(node.args, frame)
        called = node.func.attr.value if isinstance(node.func, cst.Attribute) else dotted(node.func)
        meaning = self._meaning(node.func)
        if meaning is not None and (isinstance(node.func, cst.Attribute) or frame.lookup(called) is None):
            known = self._known(meaning, node, arguments, frame)
            if known is not None:
                return known
        if _BACKWARD.search(called):
            for value in arguments.values:
                self._reach(value, frame)
        if isinstance(node.func, cst.Attribute):
            return self._method(node, node.func, called, arguments, frame)
        return self._apply(self.evaluate(node.func, frame), node, called, arguments, frame)

    def _arguments(self, args: Sequence[cst.Arg], frame: Frame) -> Arguments:
        plain = [arg for arg in args if arg.keyword is None and not arg.star]
        named = {arg.keyword.value: arg.value for arg in args if arg.keyword is not None}
        starred = [self.evaluate(arg.value, frame) for arg in args if arg.star]
        values = tuple(self.evaluate(arg.value, frame) for arg in plain)
        keywords = {name: self.evaluate(value, frame) for name, value in named.items()}
        if starred:
            keywords["*"] = Items(tuple(starred))
        return Arguments(tuple(arg.value for arg in plain), values, keywords, named)

    def _meaning(self, func: cst.BaseExpression) -> str | None:
        meanings = self.names.resolve(func)
        (meaning,) = meanings if len(meanings) == 1 else (None,)
        return meaning

    def _known(self, meaning: str, node: cst.Call, arguments: Arguments, frame: Frame) -> Value | None:
        module, _, name = meaning.rpartition(".")
        if meaning in layers.WRAPPERS:
            return arguments.values[0] if arguments.values else UNKNOWN
        if meaning in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            return Tensor(precision.FLOAT32, made=node)
        if module == "torch.nn" and name[:1].isupper():
            return self._layer(name, node, arguments)
        if module in MODULES:
            return self.torch_call(name, node, arguments, frame)
        return None

    def _layer(self, name: str, node: cst.Call, arguments: Arguments) -> Value:
        if name == "ModuleList":
            return arguments.values[0] if arguments.values else Items(())
        if name == "Sequential":
            starred = arguments.keywords.get("*")
            parts = arguments.values if starred is None else (UNKNOWN,)
            return Layer(name, node, parts)
        return Layer(name, node)

    def _method(self, node: cst.Call, func: cst.Attribute, name: str, arguments: Arguments, frame: Frame) -> Value:
        if isinstance(func.value, cst.Call) and dotted(func.value.func) == "super":
            return self._super(name, node, arguments, frame)
        base = self.evaluate(func.value, frame)
        if name == "backward":
            self._reach(base, frame)
        if name == "scale" and isinstance(base, Tensor) and base.dtype == precision.UNKNOWN:
            return arguments.values[0] if arguments.values else UNKNOWN
        if isinstance(base, Tensor):
            if self._is_model(name, base, frame):
                return self._model(node, frame)
            if base == UNKNOWN and not _TENSOR_METHODS.match(name):
                return self._apply(UNKNOWN, node, name, arguments, frame)
            return self.torch_call(name, node, arguments.of_method(func.value, base), frame)
        if isinstance(base, (Layer, Instance)) and name in layers.SAME_MODULE:
            if not (isinstance(base, Instance) and self.classes.by_node[base.cls].method(name)):
                return base
        if isinstance(base, Layer):
            return self._apply(base, node, name, arguments, frame) if name == "forward" else UNKNOWN
        if isinstance(base, Instance):
            return self._apply(self.attribute_of(base, name, frame), node, name, arguments, frame)
        if isinstance(base, Items) and name == "append":
            return UNKNOWN
        return no_result(base, *arguments.values)

    def _super(self, name: str, node: cst.Call, arguments: Arguments, frame: Frame) -> Value:
        owner = self.classes.owner(node)
        above = owner.lineage[1:] if owner is not None else []
        method = next((info.methods[name] for info in above if name in info.methods), None)
        if method is None or frame.this is None:
            return UNKNOWN
        return self._invoke(Function(method, None, frame.this), arguments, frame, name)

    def _apply(self, value: Value, node: cst.Call, called: str, arguments: Arguments, frame: Frame) -> Value:
        if isinstance(value, Function):
            return self._invoke(value, arguments, frame, called)
        if isinstance(value, Class):
            return self.construct(value.node, arguments, frame)
        if isinstance(value, Layer):
            return self._forward(value, node, arguments, frame)
        if isinstance(value, Instance):
            info = self.classes.by_node[value.cls]
            method = info.method("__call__") or info.method("forward")
            if method is None:
                return no_result(*arguments.values)
            loss = called if _LOSS.search(called) else info.name
            return self._invoke(Function(method, None, value), arguments, frame, loss)
        if self._is_model(called, value, frame):
            return self._model(node, frame)
        return no_result(*arguments.values, *arguments.keywords.values())

    # -- modules ---------------------------------------------------------------------------------------------------

    def _forward(self, layer: Layer, node: cst.Call, arguments: Arguments, frame: Frame) -> Value:
        if layer.kind == "Sequential":
            value = arguments.get(0) or UNKNOWN
            for part in layer.parts:
                step = Arguments(arguments.nodes[:1], (value,), {}, {})
                value = self._apply(part, node, "", step, frame)
            # Where the last layer rounds, no expression of the caller can be widened before it.
            return replace(value, cure=None) if isinstance(value, Tensor) else value
        name = layers.CALLS.get(layer.kind)
        if name is not None:
            return self.torch_call(name, node, arguments, frame)
        if layer.kind in layers.RECURRENT:
            output = self.torch_call(layers.RECURRENT[layer.kind], node, arguments, frame)
            return Items((output, Items((output, output)) if layer.kind == "LSTM" else output))
        if layer.kind in layers.ATTENTION:
            return Items((self.torch_call(layers.ATTENTION[layer.kind], node, arguments, frame), UNKNOWN))
        return no_result(*arguments.values)

    def _is_model(self, called: str, value: Value, frame: Frame) -> bool:
        if not isinstance(value, Tensor) or value.dtype != precision.UNKNOWN or not _MODEL.search(called):
            return False
        return frame.region is not None

    def _model(self, node: cst.Call, frame: Frame) -> Value:
        region = frame.region
        dtype = region.dtype if region is not None else precision.UNKNOWN
        detached = not frame.differentiates
        return Tensor(dtype, made=node, core=node, half_at=node, sure=False, detached=detached)

    def construct(self, node: cst.ClassDef, arguments: Arguments, frame: Frame) -> Instance:
        """An object of a class of this file, its attributes as `__init__` leaves them."""
        instance = Instance(node)
        info = self.classes.by_node[node]
        outer = Frame(self.tree.module, parent=_outermost(frame), depth=frame.depth)
        for above in reversed(info.lineage):
            for statement in above.node.body.body:
                if isinstance(statement, cst.SimpleStatementLine):
                    self.run(cst.IndentedBlock([statement]), outer)
        instance.attributes.update(outer.variables)
        method = info.method("__init__")
        if method is not None:
            self._invoke(Function(method, None, instance), arguments, frame, "")
        return instance

    # -- functions -------------------------------------------------------------------------------------------------

    def _invoke(self, function: Function, arguments: Arguments, frame: Frame, called: str) -> Value:
        node = function.node
        if node in self._running or frame.depth >= _MAX_DEPTH:
            return no_result(*arguments.values)
        if isinstance(node, cst.FunctionDef) and (node.asynchronous or self._generates(node)):
            return UNKNOWN
        name = node.name.value if isinstance(node, cst.FunctionDef) else ""
        parent = function.closure if isinstance(function.closure, Frame) else _outermost(frame)
        inner = Frame(
            node, parent=parent, regions=frame.regions, depth=frame.depth + 1, this=function.bound,
            loss=frame.loss or bool(_LOSS.search(called) or _LOSS.search(name)),
        )  # fmt: skip
        if isinstance(node, cst.FunctionDef):
            inner.regions += tuple(self.contexts.decorating(node))
        self._bind(node, function, arguments, inner)
        key: _Key = (node, function.bound, parent, tuple(inner.variables.items()), inner.regions, inner.loss)
        if key in self._results:  # what it does to its operands was filed the first time
            return self._results[key]
        self._running.append(node)
        try:
            result = self._result(node, inner, entered_loss=inner.loss and not frame.loss)
        finally:
            self._running.pop()
        self._results[key] = result
        return result

    def _result(self, node: cst.FunctionDef | cst.Lambda, frame: Frame, *, entered_loss: bool) -> Value:
        if isinstance(node, cst.Lambda):
            value = self.evaluate(node.body, frame)
        else:
            self.run(node.body, frame)
            value = joined(frame.returned)
        if entered_loss:
            self._reach(value, frame)
        return value

    def _generates(self, node: cst.FunctionDef) -> bool:
        return any(self.tree.enclosing(each, cst.FunctionDef) is node for each in self.tree.find(cst.Yield))

    def _bind(self, node: cst.FunctionDef | cst.Lambda, function: Function, arguments: Arguments, frame: Frame) -> None:
        static = isinstance(node, cst.FunctionDef) and any(
            dotted(decorator.decorator) == "staticmethod" for decorator in node.decorators
        )
        values: list[Value] = [*arguments.values]
        if function.bound is not None and not static:
            values.insert(0, function.bound)
        params = [*node.params.posonly_params, *node.params.params]
        spread = "*" in arguments.keywords
        for position, param in enumerate([*params, *node.params.kwonly_params]):
            name = param.name.value
            if position < len(params) and position < len(values):
                frame.variables[name] = values[position]
            elif name in arguments.keywords:
                frame.variables[name] = arguments.keywords[name]
            elif param.default is not None and not spread:
                frame.variables[name] = self.evaluate(param.default, frame.parent or frame)
            else:
                frame.variables[name] = Tensor(made=param)
        for star in (node.params.star_arg, node.params.star_kwarg):
            if isinstance(star, cst.Param):
                frame.variables[star.name.value] = UNKNOWN

    def enter(self, node: cst.FunctionDef, frame: Frame) -> None:
        """Follow a function whose callers are not known."""
        info = self.classes.owner(node)
        bound: Instance | None = None
        if info is not None and info.methods.get(node.name.value) is node:
            bound = self._some(info, frame)
        self._invoke(
            Function(node, None, bound), Arguments((), (), {}, {}), frame, info.name if info is not None else ""
        )

    def _some(self, info: ClassInfo, frame: Frame) -> Instance:
        return self.construct(info.node, Arguments((), (), {}, {}), frame)

    def _reach(self, value: Value, frame: Frame) -> None:
        if not frame.differentiates:
            return
        flows: list[Flow] = [flow for tensor in tensors(value) for flow in tensor.through]
        for flow in flows:
            self.reached[flow.operation] = self.reached.get(flow.operation, True) and flow.damped


_TENSOR_METHODS = re.compile(
    r"(?:float|half|bfloat16|double|to|type_as|type|log\w*|exp\w*|pow|sigmoid|softmax|log_softmax|sum|mean|abs|clamp\w*|clip"
    r"|view|reshape|matmul|mm|bmm|detach|relu|tanh|sqrt|square|add|sub|mul|div|squeeze|unsqueeze|max|min|flatten|item|norm"
    r"|permute|transpose|t|contiguous|backward|requires_grad_|gather|masked_fill|new_\w+|cuda|cpu|clone|expand\w*)_?$"
)
"""Methods that only tensors have, or that mean the same on whatever has them."""


def _outermost(frame: Frame) -> Frame:
    while frame.parent is not None:
        frame = frame.parent
    return frame
