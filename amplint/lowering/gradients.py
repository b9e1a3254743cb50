"""Gradients in the author's hands: clipping by a library or by hand, reading, changing and clearing `.grad`."""

from __future__ import annotations

import builtins
from itertools import pairwise

import libcst as cst

from amplint.lowering.conditions import constant
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.provenance import Provenance, Read, arguments
from amplint.model import vocabulary
from amplint.model.events import GRADIENT, Clip, GradAccess, ZeroGrad
from amplint.model.torch import names as torch_names
from amplint.roles.gradients import is_gradient
from amplint.syntax.access_paths import path_of
from amplint.syntax.nodes import children, is_reference
from amplint.syntax.words import words
from amplint.uses import gradient_additions

CLIP_METHODS = frozenset(name.rpartition(".")[2] for name in torch_names.CLIPS)
_IN_PLACE_CLIPS = frozenset({"clamp_", "clip_"})
SCALE_FREE = frozenset({"sign", "sign_", "sgn", "isfinite", "isnan", "isinf", "numel", "dim", "size"})
"""Methods and functions whose results are the same for any scale of a tensor."""
_ADDING = frozenset({"add_", "sub_"})
_OUT_OF_REACH = 1e9
"""No norm of gradients is as large, scaled or not: that takes hundreds of millions of elements at the limit of float16."""
_MAX_CALLERS = 3
"""From a function that clips to the one that calls it, and so on, so many times."""


class GradientReader:
    """Reads what happens to gradients outside of scaler and optimizer.

    Args:
        builder: what the events are written to.
        read: reads an expression.
    """

    def __init__(self, builder: FunctionBuilder, read: Read) -> None:
        self._emit, self._site, self._escape = builder.emit, builder.site, builder.escape
        self._scope = builder.scope
        self._program = builder.scope.program
        self._read = read
        self._measured = self._program.readings.around(self._scope.node)
        self.rescalings = 0
        """How often gradients may have been divided by the loss scale so far."""

    def clip_method(self, call: cst.Call, func: cst.Attribute) -> Provenance:
        """Read a method that clips gradients by its name.

        Args:
            call: the call.
            func: what is called.
        """
        arguments(self._read, call)
        role = self._scope.facts(func.value).role
        if role == "framework" or not vocabulary.HAS_MODEL.search(path_of(func.value)):
            self._escape(call)
        else:
            self.clip(call, func.value, argument(call, 0, ("max_norm", "clip_value")), "norm")
        return Provenance(computes=True)

    def clip(
        self, call: cst.Call, params: cst.BaseExpression | None, limit: cst.BaseExpression | None, by: str
    ) -> None:
        """Emit a clip, unless its limit takes the loss scale into account.

        Args:
            call: the call.
            params: whose gradients are clipped; None where that is not known.
            limit: what they are clipped to; None where it is not given.
            by: as in `amplint.model.events.Clip`.
        """
        if limit is not None and self._is_scale_aware(limit):
            self._escape(call)
            return
        optimizer, owners = self._whose(params)
        if limit is not None and self._is_out_of_reach(limit):
            self._emit(GradAccess(self._site(call), owners, by=self._program.readings.purpose(call)))
            return
        order = self._text(argument(call, 2, ("norm_type",))) if by == "norm" else ""
        self._emit(Clip(self._site(call), owners, optimizer, by, self._text(limit), self._insists(call), order))

    def _is_out_of_reach(self, limit: cst.BaseExpression) -> bool:
        """Whether nothing is ever clipped to a limit: it is infinite, or as large as one that stands in for that."""
        if "inf" in " ".join(words(limit)):
            return True
        if type(limit) is cst.BooleanOperation and type(limit.operator) is cst.Or:  # `None or 1e9`
            given = path_of(self._spelled_out(limit.left)) == "None"
            return given and self._is_out_of_reach(limit.right)
        number = self._spelled_out(limit)
        value = number.evaluated_value if isinstance(number, (cst.Integer, cst.Float)) else 0
        return value >= _OUT_OF_REACH

    def _spelled_out(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """What the only value of a name is, or the expression itself."""
        bound = self._program.names.bindings(node.value, node) if type(node) is cst.Name else []
        return bound[0].value or node if len(bound) == 1 else node

    def _text(self, limit: cst.BaseExpression | None) -> str:
        return self._program.tree.text(limit) if limit is not None else ""

    def _insists(self, call: cst.Call) -> bool:
        """Whether a clip raises for gradients that are not finite, although nothing catches it or has asked for that before."""
        given = argument(call, 3, ("error_if_nonfinite",))
        return given is not None and constant(given) is True and not self._is_met(call)

    def _is_met(self, call: cst.Call, callers: int = _MAX_CALLERS) -> bool:
        """Whether something reckons with an error of a call, around it or around every call in sight of its function."""
        around = list(self._program.tree.ancestors(call))
        tests = [each.test for each in around if isinstance(each, cst.If)]
        tried = [each for below, each in pairwise(around) if isinstance(each, cst.Try) and below is each.body]
        caught = any(catches_runtime_errors(handler) for each in tried for handler in each.handlers)
        if caught or any(map(_asks_for_finite, tests)):
            return True
        home = self._program.tree.function(call)
        led = self._program.flow.calls_of(home) if callers and isinstance(home, cst.FunctionDef) else []
        return bool(led) and all(self._is_met(each, callers - 1) for each in led)

    def _whose(self, params: cst.BaseExpression | None) -> tuple[str, tuple[str, ...]]:
        """The optimizer that an expression of parameters names, or else the references that they come from."""
        if params is None:
            return "", ()
        for node in _chain(params):
            named = node if is_reference(node) else None
            if named is not None and self._scope.roles.of(named).role == "optimizer":
                return self._scope.ref(named), ()
        return "", tuple(self._scope.qualify(path) for path in self._scope.roles.owners(params))

    def _is_scale_aware(self, limit: cst.BaseExpression) -> bool:
        return bool(set(words(limit)) & self._scope.scale_names) or self._program.loss_scales.may_hold(limit)

    def grad_method(self, call: cst.Call, func: cst.Attribute) -> Provenance:
        """Read a method of a gradient.

        Args:
            call: the call.
            func: what is called.
        """
        attribute = func.attr.value
        arguments(self._read, call)
        owners = tuple(self._scope.grad_owners(func.value))
        if attribute == "zero_":
            self._emit(ZeroGrad(self._site(call), owner=owners[0] if owners else ""))
        elif attribute in _IN_PLACE_CLIPS or (attribute == "mul_" and vocabulary.CLIPS.search(" ".join(words(call)))):
            self.hand_clip(call, owners)
        elif attribute in ("mul_", "div_") and len(call.args) == 1 and self.keeps_scale(call.args[0].value):
            pass
        elif attribute.endswith("_"):
            by = gradient_additions.added(self._program.flow, call, func.value) if attribute in _ADDING else ""
            self._emit(GradAccess(self._site(call), owners, writes=True, by=by))
            self.rescale_by(call, *(arg.value for arg in call.args))
        return Provenance(() if attribute in SCALE_FREE else (GRADIENT,), computes=True)

    def rescale(self, node: cst.CSTNode) -> None:
        """Gradients may be divided by the loss scale here: from now on nobody knows whether they are scaled."""
        self._escape(node)
        self.rescalings += 1

    def rescale_by(self, node: cst.CSTNode, *factors: cst.BaseExpression) -> None:
        """Gradients are multiplied here, by factors that may hold the loss scale.

        Args:
            node: where they are multiplied.
            *factors: what they are multiplied by.
        """
        if any(map(self._program.loss_scales.may_hold, factors)):
            self.rescale(node)

    def keeps_scale(self, factor: cst.BaseExpression) -> bool:
        """Whether gradients bear the same loss scale when they are multiplied or divided by a factor: a share of them."""
        return not self._program.loss_scales.may_hold(factor) and self._program.loss_scales.is_share(factor)

    def read_measure(self, node: cst.CSTNode) -> None:
        """Emit that an expression measures or shows gradients, if it does."""
        purpose, grad = self._measured.get(node, ("", None))
        if grad is not None:
            self._emit(GradAccess(self._site(node), self._scope.grad_owners(grad), by=purpose))

    def hand_clip(self, node: cst.Call, owners: tuple[str, ...]) -> None:
        """Gradients are clipped by the author's own arithmetic.

        Args:
            node: the call that clips.
            owners: what the parameters belong to, as far as that is known.
        """
        limit = node.args[-1].value if node.args else None
        if limit is not None and self._is_scale_aware(limit):
            self._escape(node)
        else:
            self._emit(Clip(self._site(node), owners, "", "hand", self._text(limit)))


def catches_runtime_errors(handler: cst.ExceptHandler) -> bool:
    """Whether a handler may catch what PyTorch raises: all but errors of Python that are others, and a lack of memory.

    Args:
        handler: the handler.
    """
    kinds = handler.type
    caught = [each.value for each in kinds.elements] if isinstance(kinds, cst.Tuple) else [kinds]
    return any(each is None or _is_runtime_error(path_of(each).rpartition(".")[2]) for each in caught)


def _is_runtime_error(name: str) -> bool:
    known = getattr(builtins, name, None)
    return issubclass(RuntimeError, known) if isinstance(known, type) else name != "OutOfMemoryError"


def _asks_for_finite(test: cst.BaseExpression) -> bool:
    asked = list(words(test))
    return "inf" in asked or any("enabled" in word or vocabulary.FINITE.search(word) for word in asked)


def argument(call: cst.Call, position: int, keywords: tuple[str, ...]) -> cst.BaseExpression | None:
    """What a call gives for a parameter, unpacked arguments aside; None for nothing.

    Args:
        call: the call.
        position: the index among the positional arguments.
        keywords: the names that it may be given by.
    """
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value in keywords:
            return arg.value
    positional = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    return positional[position] if len(positional) > position else None


def is_grad(node: cst.BaseExpression) -> bool:
    if type(node) is cst.Call and type(node.func) is cst.Attribute and node.func.attr.value == "detach":
        node = node.func.value
    if type(node) is cst.Attribute and node.attr.value == "data":
        node = node.value
    return is_gradient(node)


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
