"""Subclasses of `autograd.Function`: what they tell autocast, and what they compute in their backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from amplint.lowering.classes import Classes
from amplint.lowering.contexts import Contexts
from amplint.lowering.names import Names
from amplint.lowering.tree import Tree

_FUNCTION = frozenset({"torch.autograd.Function", "torch.autograd.function.Function"})
_FWD = frozenset({"torch.amp.custom_fwd", "torch.cuda.amp.custom_fwd"})
_BWD = frozenset({"torch.amp.custom_bwd", "torch.cuda.amp.custom_bwd"})
_CASTS = frozenset({"to", "type", "type_as", "float", "half", "bfloat16"})
_LOWERED = frozenset(
    "matmul mm bmm mv addmm baddbmm addbmm addmv einsum linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
    "conv_transpose3d scaled_dot_product_attention".split()
)
"""Functions and methods that CUDA's autocast runs in half."""


@dataclass(frozen=True)
class CustomFunction:
    """A subclass: its two passes, its decorators by their full names, and the first product in its backward pass."""

    node: cst.ClassDef
    forward: cst.FunctionDef
    backward: cst.FunctionDef
    spelled: frozenset[str]
    product: cst.CSTNode
    sets_up_context: bool

    @property
    def has_fwd(self) -> bool:
        """Whether `forward` is decorated."""
        return bool(self.spelled & _FWD)

    @property
    def has_bwd(self) -> bool:
        """Whether `backward` is decorated."""
        return bool(self.spelled & _BWD)


class CustomFunctions:
    """Those of one file."""

    def __init__(self, tree: Tree, names: Names, classes: Classes, contexts: Contexts) -> None:
        self._tree, self._names, self._classes, self._contexts = tree, names, classes, contexts

    def unaware(self) -> Iterator[CustomFunction]:
        """Those that lack a decorator, and whose backward pass multiplies what it does not cast."""
        for info in self._classes.by_node.values():
            forward, backward = info.methods.get("forward"), info.methods.get("backward")
            if forward is None or backward is None or not info.base_names <= _FUNCTION or not info.base_names:
                continue
            product = next(self._products(backward), None)
            decorators = [each.decorator for method in (forward, backward) for each in method.decorators]
            called = [each.func if isinstance(each, cst.Call) else each for each in decorators]
            spelled = frozenset().union(*map(self._names.resolve, called)) if called else frozenset[str]()
            found = CustomFunction(
                info.node, forward, backward, spelled, product or backward, "setup_context" in info.methods
            )
            if product is not None and not (found.has_fwd and found.has_bwd) and not self._casts(backward):
                yield found

    def _products(self, method: cst.FunctionDef) -> Iterator[cst.CSTNode]:
        for operator in self._tree.find(cst.MatrixMultiply):
            if method in self._tree.ancestors(operator):
                yield self._tree.parent(operator) or operator
        for call in self._tree.find(cst.Call):
            name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
            if isinstance(name, cst.Name) and name.value in _LOWERED and method in self._tree.ancestors(call):
                yield call.func

    def _casts(self, method: cst.FunctionDef) -> bool:
        """Whether a method sees to precisions by itself: by casts, or by a region of its own."""
        calls = [call for call in self._tree.find(cst.Call) if method in self._tree.ancestors(call)]
        casts = any(isinstance(call.func, cst.Attribute) and call.func.attr.value in _CASTS for call in calls)
        return casts or any(
            self._contexts.of(item.item) is not None
            for item in self._tree.find(cst.WithItem)
            if method in self._tree.ancestors(item)
        )
