"""Gradients in the author's hands: clipping by a library or by hand, reading, changing and clearing `.grad`."""

from __future__ import annotations

from abc import ABC, abstractmethod

import libcst as cst

from amplint.lowering.conditions import constant
from amplint.lowering.function_scope import Flow, FunctionScope
from amplint.model.events import GRADIENT, Clip, Escape, GradAccess, ZeroGrad
from amplint.model.torch import names as torch_names
from amplint.model.torch import vocabulary
from amplint.syntax.access_paths import path_of
from amplint.syntax.tree import children
from amplint.syntax.words import words

CLIP_METHODS = frozenset(name.rpartition(".")[2] for name in torch_names.CLIPS)
_IN_PLACE_CLIPS = frozenset({"clamp_", "clip_"})
SCALE_FREE = frozenset({"sign", "sign_", "sgn", "isfinite", "isnan", "isinf", "numel", "dim", "size"})
"""Methods and functions whose results are the same for any scale of a tensor."""
_ADDING = frozenset({"add_", "sub_"})


class GradientReader(FunctionScope, ABC):
    """The part of a function's lowering that sees what happens to gradients outside of scaler and optimizer."""

    @abstractmethod
    def flow(self, node: cst.CSTNode) -> Flow:
        """Emit the events of an expression in the order in which they happen, and say where its value comes from."""

    @abstractmethod
    def call_into(self, call: cst.Call, at: cst.Call | None = None) -> Flow | None:
        """Enter the graph of the function that a call is known to run; None when it is not known."""

    def arguments(self, call: cst.Call, but: int = 0) -> Flow:
        flow = Flow()
        for arg in call.args[but:]:
            flow |= self.flow(arg.value)
        return flow

    def clip_method(self, call: cst.Call, func: cst.Attribute) -> Flow:
        entered = self.call_into(call)
        if entered is not None:
            return entered
        self.arguments(call)
        role = self.roles.of(func.value).role
        if role == "framework" or not vocabulary.HAS_MODEL.search(path_of(func.value)):
            self.emit(Escape(self.site(call), ()))
        else:
            self.clip(call, func.value, argument(call, 0, ("max_norm", "clip_value")), "norm")
        return Flow(computes=True)

    def clip(
        self, call: cst.Call, params: cst.BaseExpression | None, limit: cst.BaseExpression | None, by: str
    ) -> None:
        if limit is not None and self._is_scale_aware(limit):
            self.emit(Escape(self.site(call), ()))
            return
        optimizer, owners = self.whose(params)
        if limit is not None and "inf" in " ".join(words(limit)):
            self.emit(GradAccess(self.site(call), owners, by=self.program.readings.purpose(call)))
            return
        text = self.text(limit) if limit is not None else ""
        self.emit(Clip(self.site(call), owners, optimizer, by, text, self._insists(call)))

    def _insists(self, call: cst.Call) -> bool:
        """Whether a clip raises for gradients that are not finite, although nothing catches it or has asked for that before."""
        given = argument(call, 3, ("error_if_nonfinite",))
        if given is None or constant(given) is not True:
            return False
        around = list(self.program.tree.ancestors(call))
        tests = [each.test for each in around if isinstance(each, cst.If)]
        return not any(isinstance(each, cst.Try) for each in around) and not any(map(_asks_for_finite, tests))

    def whose(self, params: cst.BaseExpression | None) -> tuple[str, tuple[str, ...]]:
        """The optimizer that an expression of parameters names, or else the references that they come from."""
        if params is None:
            return "", ()
        for node in _chain(params):
            if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)) and self.roles.of(node).role == "optimizer":
                return self.ref(node), ()
        return "", tuple(self.qualify(path) for path in self.roles.owners(params))

    def _is_scale_aware(self, limit: cst.BaseExpression) -> bool:
        return bool(set(words(limit)) & self.scale_names) or self.program.loss_scales.may_hold(limit)

    def grad_method(self, call: cst.Call, func: cst.Attribute) -> Flow:
        attribute = func.attr.value
        self.arguments(call)
        owners = tuple(self.grad_owners(func.value))
        if attribute == "zero_":
            self.emit(ZeroGrad(self.site(call), owner=owners[0] if owners else ""))
        elif attribute in _IN_PLACE_CLIPS or (attribute == "mul_" and vocabulary.CLIPS.search(" ".join(words(call)))):
            self.hand_clip(call, owners, _last_argument(call))
        elif attribute.endswith("_"):
            by = self.program.readings.adds(call, func.value) if attribute in _ADDING else ""
            self.emit(GradAccess(self.site(call), owners, writes=True, by=by))
            if self._rescales(*(arg.value for arg in call.args)):
                self.rescale(call)
        return Flow(() if attribute in SCALE_FREE else (GRADIENT,), computes=True)

    def rescale(self, node: cst.CSTNode) -> None:
        """Gradients may be divided by the loss scale here: from now on nobody knows whether they are scaled."""
        self.emit(Escape(self.site(node), ()))
        self._rescaled.append(node)

    def _rescales(self, *factors: cst.BaseExpression) -> bool:
        return any(map(self.program.loss_scales.may_hold, factors))

    def read_gradients(self, node: cst.CSTNode) -> None:
        """Emit that an expression measures or shows gradients, if it does."""
        purpose, grad = self.program.readings.found.get(node, ("", None))
        if grad is not None:
            self.emit(GradAccess(self.site(node), self.grad_owners(grad), by=purpose))

    def hand_clip(self, node: cst.CSTNode, owners: tuple[str, ...], limit: cst.BaseExpression | None) -> None:
        """Gradients are clipped by the author's own arithmetic."""
        if limit is not None and self._is_scale_aware(limit):
            self.emit(Escape(self.site(node), ()))
        else:
            self.emit(Clip(self.site(node), owners, "", "hand", self.text(limit) if limit is not None else ""))


def _asks_for_finite(test: cst.BaseExpression) -> bool:
    asked = list(words(test))
    return "inf" in asked or any("enabled" in word or vocabulary.FINITE.search(word) for word in asked)


def argument(call: cst.Call, position: int, keywords: tuple[str, ...]) -> cst.BaseExpression | None:
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value in keywords:
            return arg.value
    positional = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    return positional[position] if len(positional) > position else None


def _last_argument(call: cst.Call) -> cst.BaseExpression | None:
    return call.args[-1].value if call.args else None


def is_grad(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "detach":
        node = node.func.value
    if isinstance(node, cst.Attribute) and node.attr.value == "data":
        node = node.value
    return isinstance(node, cst.Attribute) and node.attr.value == "grad"


def _chain(node: cst.CSTNode) -> list[cst.CSTNode]:
    """All sub-expressions of an expression."""
    found, waiting = [], [node]
    while waiting:
        current = waiting.pop(0)
        found.append(current)
        # What an attribute or a keyword is called is no expression.
        inside = [current.value] if isinstance(current, (cst.Attribute, cst.Arg)) else children(current)
        waiting.extend(inside)
    return found
