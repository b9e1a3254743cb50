"""The dtype flow through modules: what layers of PyTorch give back, and models of which nothing else is known."""

from __future__ import annotations

from functools import cached_property, lru_cache

import libcst as cst

from amplint.dtypes.frames import StackFrame
from amplint.dtypes.higher_order import HigherOrder
from amplint.dtypes.tensor_calls import no_result
from amplint.dtypes.values import UNKNOWN, Arguments, Items, Layer, Tensor, Value
from amplint.model import vocabulary
from amplint.model.records import changed
from amplint.model.torch import layers, precision
from amplint.syntax.names import dotted


class ModuleCalls(HigherOrder):
    """Evaluates modules that are called."""

    def _forward(self, layer: Layer, node: cst.Call, arguments: Arguments, frame: StackFrame) -> Value:
        """What a layer of PyTorch gives back."""
        if layer.kind == "Sequential":
            value = arguments.get(0) or UNKNOWN
            for part in layer.parts:
                step = Arguments((), (value,))
                value = self.apply(part, node, "", step, frame)
            # Where the last layer rounds, no expression of the caller can be widened before it.
            return changed(value, cure=None) if isinstance(value, Tensor) else value
        name = layers.LAYERS.get(layer.kind)
        if name is not None:
            return self.torch_call(name, node, arguments, frame, layer)
        if layer.kind in layers.RECURRENT:
            output = self.torch_call(layers.RECURRENT[layer.kind], node, arguments, frame)
            return Items((output, Items((output, output)) if layer.kind == "LSTM" else output))
        if layer.kind in layers.ATTENTION:
            return Items((self.torch_call(layers.ATTENTION[layer.kind], node, arguments, frame), UNKNOWN))
        return self.record("call", arguments, no_result(*arguments.all), node, frame, layer=layer)

    def _is_model(self, called: str, value: Value, frame: StackFrame) -> bool:
        """Whether something of which nothing is known is a model, as its name says, that is called in a region."""
        if not isinstance(value, Tensor) or value.dtype != precision.UNKNOWN or frame.region is None:
            return False
        named = _says_model(called)
        return called in self._set_in_modes if named is None else named

    @cached_property
    def _set_in_modes(self) -> frozenset[str]:
        """What is called like something of which the file sets a mode: `student.train()`; criteria have modes, too."""
        calls = (call.func for call in self.tree.find(cst.Call) if type(call.func) is cst.Attribute)
        named = {dotted(func.value).rpartition(".")[2] for func in calls if func.attr.value in ("train", "eval")}
        return frozenset(name for name in named if name != "self" and not self.is_loss(name))

    def _model(self, node: cst.Call, frame: StackFrame) -> Tensor:
        """What such a model is likely to give back: outputs in the precision of the region."""
        region = frame.region
        dtype = region.dtype if region is not None else precision.UNKNOWN
        detached = not frame.differentiates
        return Tensor(dtype, made=node, core=node, half_at=node, sure=False, detached=detached)


@lru_cache(maxsize=4096)
def _says_model(called: str) -> bool | None:
    """Whether a name says that it stands for a model, or for what unwraps one; None where it says neither."""
    if vocabulary.UNWRAPS.search(called):
        return False
    return True if vocabulary.MODEL.search(called) else None
