"""The dtype flow through calls: what is called, and how a module that is called runs."""

from __future__ import annotations

import re

import libcst as cst

from amplint.dtypes import containers, derived_layers
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.literals import joined, spelled_number
from amplint.dtypes.module_calls import ModuleCalls
from amplint.dtypes.python_numbers import computed
from amplint.dtypes.tensor_calls import MODULES, no_result
from amplint.dtypes.values import (
    UNKNOWN,
    Arguments,
    Choice,
    Class,
    Closure,
    FromLibrary,
    GradientFlow,
    Instance,
    Items,
    Layer,
    Operation,
    Record,
    Tensor,
    Value,
    with_tensors,
)
from amplint.model import vocabulary
from amplint.model.records import changed
from amplint.model.torch import layers, precision
from amplint.model.torch.operators import OPERATORS
from amplint.syntax.class_info import is_only_announced
from amplint.syntax.names import dotted
from amplint.syntax.option_tests import excluded

_BACKWARD = re.compile(r"backward$|scaler$")


class Calls(ModuleCalls):
    """Evaluates calls."""

    def call(self, node: cst.Call, frame: StackFrame) -> Value:
        arguments = self.arguments_of(node.args, frame)
        called = node.func.attr.value if type(node.func) is cst.Attribute else dotted(node.func)
        meaning = self._meaning(node.func)
        if meaning is not None and (type(node.func) is cst.Attribute or frame.lookup(called) is None):
            known = self._known(meaning, node, arguments, frame)
            if known is not None:
                return known
        if _BACKWARD.search(called):
            for value in arguments.values:
                self.reach(value, frame)
        if type(node.func) is cst.Attribute:
            return self._method(node, node.func, called, arguments, frame)
        return self.apply(self.evaluate(node.func, frame), node, called, arguments, frame)

    def _meaning(self, func: cst.BaseExpression) -> str | None:
        meanings = self.names.resolve(func)
        (meaning,) = meanings if len(meanings) == 1 else (None,)
        return meaning

    def _known(self, meaning: str, node: cst.Call, arguments: Arguments, frame: StackFrame) -> Value | None:
        meaning = layers.ALIKE.get(meaning, meaning)
        module, _, name = meaning.rpartition(".")
        if meaning in layers.WRAPPERS:
            return arguments.values[0] if arguments.values else UNKNOWN
        if meaning in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            given = arguments.get(0, "data")
            return Tensor(precision.FLOAT32, made=node, zero_dim=isinstance(given, Tensor) and given.zero_dim)
        if meaning in containers.RECORD_MAKERS:
            return self._made_record(arguments)
        if module == "torch.nn" and name[:1].isupper():
            return self._layer(name, node, arguments)
        if (number := spelled_number(node) or computed(meaning, arguments)) is not None:
            return number
        if module in MODULES:
            return self.torch_call(name, node, arguments, frame)
        return self.passed_on(meaning, node, arguments, frame)

    def _made_record(self, arguments: Arguments) -> Value:
        """What `dict(...)` and its relatives make."""
        pairs = containers.listed(arguments.nodes[0], arguments.values[0]) if arguments.values else None
        given = pairs if pairs is not None else [(None, value) for value in arguments.values]
        named = [(None if name == "*" else name, value) for name, value in arguments.keywords.items()]
        return containers.filled((*given, *named))

    def _layer(self, name: str, node: cst.Call, arguments: Arguments) -> Value:
        if name == "ModuleList":
            return arguments.values[0] if arguments.values else Items(())
        return Layer(name, node, self.parts_of_chain(arguments) if name == "Sequential" else ())

    def _method(self, node: cst.Call, func: cst.Attribute, name: str, arguments: Arguments, frame: StackFrame) -> Value:
        if type(func.value) is cst.Call and dotted(func.value.func) == "super":
            return self._super(name, node, arguments, frame)
        base = self.evaluate(func.value, frame)
        if name == "backward":
            self.reach(base, frame)
        if isinstance(base, Tensor) and (kept := self.kept.get(dotted(func))) is not None:
            return self.apply(kept, node, name, arguments, frame)
        if isinstance(base, Choice) and name not in layers.SAME_MODULE:
            return joined([self._method_of(each, node, func, name, arguments, frame) for each in base.used])
        return self._method_of(base, node, func, name, arguments, frame)

    def _method_of(
        self, base: Value, node: cst.Call, func: cst.Attribute, name: str, arguments: Arguments, frame: StackFrame
    ) -> Value:
        if name == "scale" and isinstance(base, Tensor) and base.dtype == precision.UNKNOWN:
            return arguments.values[0] if arguments.values else UNKNOWN
        if isinstance(base, Tensor):
            if base.dtype != precision.UNKNOWN and containers.is_asked_for(name, arguments.nodes):
                return base  # an element of what a model gives back
            is_pass = vocabulary.PASSES.search(name) and self._is_model(_last_name(func.value), base, frame)
            if is_pass and not (name == "forward" and frame.widens):
                return self._leave(self._model(node, frame), node, arguments, frame)
            if self._is_model(name, base, frame) or _is_of_object(base, name) or vocabulary.UNWRAPS.search(name):
                return self.apply(UNKNOWN, node, name, arguments, frame)
            return self.torch_call(name, node, arguments.of_method(func.value, base), frame)
        if isinstance(base, Record):
            return self._record_method(base, func, name, arguments, frame)
        if isinstance(base, (Layer, Instance, Choice)) and name in layers.SAME_MODULE:
            if not (isinstance(base, Instance) and self.classes.of(base.cls).method(name)):
                return base
        if isinstance(base, Layer):
            if (longer := self.lengthened(base, name, arguments)) is not None:
                self.replace(func.value, longer, frame)
                return longer
            return self.apply(base, node, name, arguments, frame) if name == "forward" else UNKNOWN
        if isinstance(base, Instance):
            if name in ("add_module", "append") and self.classes.of(base.cls).method(name) is None:
                derived_layers.add(base, self.classes.of(base.cls), arguments)
            return self.apply(self.attribute_of(base, name, frame), node, name, arguments, frame)
        if isinstance(base, Items) and (grown := self.grown(base, name, arguments)) is not None:
            self.replace(func.value, grown, frame)
            return UNKNOWN
        return no_result(base, *arguments.values)

    def _record_method(
        self, base: Record, func: cst.Attribute, name: str, arguments: Arguments, frame: StackFrame
    ) -> Value:
        if name == "update":
            other = self._made_record(arguments)
            if isinstance(other, Record):
                self.replace(func.value, containers.updated(base, other), frame)
            return UNKNOWN
        key = containers.text_key(arguments.nodes[0]) if arguments.nodes else None
        found = containers.asked(base, name, key)
        if found is None and name in layers.SAME_MODULE:
            return base
        return found if found is not None else no_result(base, *arguments.values)

    def _super(self, name: str, node: cst.Call, arguments: Arguments, frame: StackFrame) -> Value:
        owner = self.classes.owner(node)
        above = owner.lineage[1:] if owner is not None else []
        method = next((info.methods[name] for info in above if name in info.methods), None)
        if method is None and owner is not None and frame.this is not None:
            if name == "__init__":
                derived_layers.make(frame.this, owner, self.parts_of_chain(arguments))
            layer = derived_layers.layer_behind(frame.this, owner) if name == "forward" else None
            if layer is not None:
                return self._forward(layer, node, arguments, frame)
        if method is None and not name.startswith("__"):  # a base of another file may have it
            return self._leave(no_result(*arguments.values), node, arguments, frame)
        if method is None or frame.this is None:
            return UNKNOWN
        return self.invoke(Closure(method, None, frame.this), arguments, frame, name)

    def apply(self, value: Value, node: cst.Call, called: str, arguments: Arguments, frame: StackFrame) -> Value:
        if frame.widens and (isinstance(value, (Layer, Instance, Closure)) or self._is_model(called, value, frame)):
            return self._maybe_widened(value, node, called, arguments, frame)
        return self._apply(value, node, called, arguments, frame)

    def _apply(self, value: Value, node: cst.Call, called: str, arguments: Arguments, frame: StackFrame) -> Value:
        if isinstance(value, Choice):
            made = [each for each in value.used if not self._is_excluded(each, node)]
            return joined([self.apply(each, node, called, arguments, frame) for each in made or value.used])
        if isinstance(value, Closure):
            return self.invoke(value, arguments, frame, called)
        if isinstance(value, FromLibrary):
            known = self._known(value.meaning, node, arguments, frame)
            return known if known is not None else no_result(*arguments.all)
        if isinstance(value, Class):
            return self.construct(value.node, arguments, frame)
        if isinstance(value, Layer):
            return self._forward(value, node, arguments, frame)
        if isinstance(value, Instance):
            info = self.classes.of(value.cls)
            method = info.method("__call__") or info.method("forward")
            layer = derived_layers.layer_behind(value, info) if method is None else None
            if layer is not None:
                return self._forward(layer, node, arguments, frame)
            if method is None or is_only_announced(method):  # a subclass has it, in whichever file
                return self._leave(no_result(*arguments.values), node, arguments, frame)
            loss = called if self.is_loss(called) else info.name
            return self.invoke(Closure(method, None, value), arguments, frame, loss)
        if self._is_model(called, value, frame):
            return self._leave(self._model(node, frame), node, arguments, frame)
        given = _handed_back(called, arguments)
        if given is not None:
            return given
        layer = self.layers_elsewhere.made(node.func) if self.layers_elsewhere is not None else None
        if layer is not None:
            return self._forward(layer, node, arguments, frame)
        result = self._leave(no_result(*arguments.all), node, arguments, frame)
        return self.record("call", arguments, result, node, frame)

    def _maybe_widened(
        self, value: Value, node: cst.Call, called: str, arguments: Arguments, frame: StackFrame
    ) -> Value:
        """What a module gives back where a library makes float32 of it if it has prepared the module, which nobody says.

        Nothing is widened within a module, nor what another method than `forward` gives back.
        """
        around, owner = frame.regions, value.bound if isinstance(value, Closure) else None
        is_of_module = owner is not None and self.classes.of(owner.cls).is_module
        if is_of_module or not isinstance(value, Closure):
            frame.regions = tuple(changed(region, widens=False) for region in around)
        result = self._apply(value, node, called, arguments, frame)
        frame.regions = around
        is_pass = not isinstance(value, Closure) or (is_of_module and called == "forward")
        return with_tensors(result, Tensor.maybe_widened) if is_pass else result

    def _is_excluded(self, option: Value, call: cst.Call) -> bool:
        """Whether an option of the object keeps a module apart from the place that calls one of several."""
        return isinstance(option, Layer) and excluded(self.tree, option.node, call)

    def _leave(self, result: Tensor, node: cst.Call, arguments: Arguments, frame: StackFrame) -> Value:
        """File a call of what is not defined here, if autocast or an argument tells it of half precision.

        A gradient that flows through its result flows through the function. What another file says that the call gives back
        stands in the place of what is known here.
        """
        region = frame.region
        lowers = region is not None and region.lowers
        if not lowers and all(tensor.dtype not in precision.ANY_HALF for tensor in arguments.tensors):
            return result
        call = Operation(node, "call", arguments, result.dtype, region, differentiates=frame.differentiates)
        self.leaving[call] = frame.loss
        known = self.result_elsewhere(call)
        through = result.through | {GradientFlow(call)} if frame.differentiates else result.through

        def given_back(tensor: Tensor) -> Tensor:
            return tensor.derived(node, half_at=node if tensor.half else None, through=through)

        return changed(result, through=through) if known is None else with_tensors(known, given_back)


def _last_name(node: cst.BaseExpression) -> str:
    """What an object is called: `model` of `self.model`; empty for what is no name."""
    return dotted(node).rpartition(".")[2]


def _handed_back(called: str, arguments: Arguments) -> Value | None:
    """What a function out of sight, to judge by its name, gives back of what it is given: models, wrapped or unwrapped."""
    given = arguments.values
    if given and vocabulary.UNWRAPS.search(called):
        return given[0]
    if any(isinstance(each, (Instance, Layer, Choice)) for each in given) and vocabulary.HANDED_OUT.search(called):
        return Items(given) if len(given) > 1 else given[0]
    return None


def _is_of_object(base: Tensor, method: str) -> bool:
    """Whether a method is one that tensors do not have, of a value of which nothing is known, a parameter at most."""
    if _TENSOR_METHODS.match(method):
        return False
    is_parameter = type(base.made) is cst.Param and method not in OPERATORS
    return base == UNKNOWN or (is_parameter and base == changed(UNKNOWN, made=base.made))


_TENSOR_METHODS = re.compile(
    r"(?:float|half|bfloat16|double|to|type_as|type|log\w*|exp\w*|pow|sigmoid|softmax|log_softmax|sum|mean|abs|clamp\w*|clip"
    r"|view|reshape|matmul|mm|bmm|detach|relu|tanh|sqrt|square|add|sub|mul|div|squeeze|unsqueeze|max|min|flatten|item|norm"
    r"|size|numel|permute|transpose|t|contiguous|backward|requires_grad_|gather|masked_fill|new_\w+|cuda|cpu|clone|expand\w*)_?$"
)
"""Methods that only tensors have, or that mean the same on whatever has them."""
