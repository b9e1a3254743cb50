"""Subclasses of `autograd.Function`: what they tell autocast, and what they compute in their backward pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from amplint.facts.backward_names import gradients_of, is_dtype, layers_run_again, widens, words_of
from amplint.file import File
from amplint.model.records import frozen
from amplint.model.torch.names import CUSTOM_BWD, CUSTOM_FWD
from amplint.model.torch.operators import OPERATORS, Kind, Policy, of_kind
from amplint.model.torch.precision import CASTS
from amplint.roles.region_makers import PARTIAL
from amplint.syntax.entered_contexts import entered_in
from amplint.syntax.nodes import within

_FUNCTION = frozenset({"torch.autograd.Function", "torch.autograd.function.Function"})
_CASTS = {"to", "type", "type_as", *CASTS}
_LOWERED = frozenset(name for name in of_kind(Kind.PRODUCT, Kind.CONVOLUTION) if OPERATORS[name].cuda is Policy.LOWER)
"""Functions and methods that CUDA's autocast runs in half."""
_FLOAT32_ONLY = frozenset(
    "cholesky cholesky_ex cholesky_inverse cholesky_solve det eig eigh eigvals eigvalsh geqrf inv inv_ex inverse ldl_factor "
    "ldl_solve logdet lstsq lu lu_factor lu_solve pinv pinverse qr slogdet solve solve_ex solve_triangular svd svdvals "
    "triangular_solve".split()
)
"""Functions of torch that decompose or solve: they refuse half precision, so that all around them is float32."""
_WEIGHT = re.compile(r"weights?$|kernel$|filters?$")
_SEES_TO_DTYPES = re.compile(r"\.float\(\)|\.half\(\)|\.to\(|\.type\(|type_as|enabled=False|force_fp32|cast_inputs")
"""What a file says that sees to the precision of its operations by itself."""
_NO_EXTENSIONS = ("torch.", "numpy.", "math.", "builtins.", "triton.")


@frozen
class CustomFunction:
    """A subclass: its two passes, its decorators by their full names, and where it goes wrong: the first product in its
    backward pass, or the kernel that it calls."""

    node: cst.ClassDef
    forward: cst.FunctionDef
    backward: cst.FunctionDef
    spelled: frozenset[str]
    product: cst.CSTNode
    sets_up_context: bool

    @property
    def has_fwd(self) -> bool:
        """Whether `forward` is decorated."""
        return bool(self.spelled & CUSTOM_FWD)

    @property
    def has_bwd(self) -> bool:
        """Whether `backward` is decorated."""
        return bool(self.spelled & CUSTOM_BWD)


class CustomFunctions:
    """Those of one file."""

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._classes, self._contexts = file.tree, file.names, file.classes, file.contexts
        self._flow, self._text = file.flow, file.source.text

    def unaware(self) -> Iterator[CustomFunction]:
        """Those that lack a decorator, and whose backward pass multiplies what it does not cast."""
        for each in self._functions():
            product = next(self._products(each.backward), None)
            if product is None or self._is_aware(each) or self._casts(each.backward):
                continue
            if not self._is_float32(each.forward):
                yield replace(each, product=product)

    def mixing(self) -> Iterator[CustomFunction]:
        """Those that lack `custom_fwd` and hand what they are given, and the weight of a module of the same file, to a kernel
        of an extension: under autocast the one is half, and the other float32."""
        if _SEES_TO_DTYPES.search(self._text):
            return
        for each in self._functions():
            weights = [param.name.value for param in each.forward.params.params[1:] if _WEIGHT.match(param.name.value)]
            for weight in weights if not each.has_fwd else ():
                kernel = self._kernel(each, weight)
                if kernel is not None and self._gets_weight(each, weight):
                    yield replace(each, product=kernel)
                    break

    def recomputing(self) -> Iterator[CustomFunction]:
        """Those that lack a decorator, and whose backward pass runs again the layers that were given to their forward pass, in a
        file that speaks of autocast: others may be meant for projects that train without."""
        for each in self._functions() if "autocast" in self._text else ():
            if self._is_aware(each) or self._casts(each.backward):
                continue
            builds_graph = "enable_grad" in words_of(each.backward.body)
            for call in layers_run_again(each.forward, each.backward):
                half = self._half_names(each.backward, call, gradients_of(each.backward))
                if builds_graph or any(half & words_of(arg.value) for arg in call.args):
                    yield replace(each, product=call.func)
                    break

    def _is_aware(self, function: CustomFunction) -> bool:
        """Whether both passes are decorated, or either asks for what autocast does, and sees to it by itself."""
        return (function.has_fwd and function.has_bwd) or "autocast" in self._tree.text(function.node)

    def _functions(self) -> Iterator[CustomFunction]:
        for info in self._classes.own:
            forward, backward = info.methods.get("forward"), info.methods.get("backward")
            if forward is None or backward is None or not info.base_names <= _FUNCTION or not info.base_names:
                continue
            if self._is_fallback(info.node):
                continue
            decorators = [each.decorator for method in (forward, backward) for each in method.decorators]
            spelled = frozenset(name for each in decorators for name in self._meant(each))
            yield CustomFunction(info.node, forward, backward, spelled, backward, "setup_context" in info.methods)

    def _meant(self, decorator: cst.BaseExpression) -> Iterator[str]:
        """The full names of a decorator, and of what it is made of where it has a name of its own, in another file, too:
        `amp_fwd = torch.amp.custom_fwd(device_type="cuda")`, `amp_fwd = partial(torch.amp.custom_fwd, device_type="cuda")`."""
        for each in (decorator, *self._flow.values(decorator)):
            called = each.func if isinstance(each, cst.Call) else each
            yield from self._names.resolve(called)
            if isinstance(each, cst.Call) and each.args and self._names.all_in(called, PARTIAL):
                yield from self._names.resolve(each.args[0].value)

    def _is_fallback(self, node: cst.ClassDef) -> bool:
        """Whether a class stands in for a namesake that could not be made, as the names of mixed precision are missing."""
        tried = self._tree.enclosing(node, cst.Try) if self._tree.enclosing(node, cst.ExceptHandler) else None
        first = self._tree.inside(tried.body, cst.ClassDef) if isinstance(tried, cst.Try) else []
        return any(each.name.value == node.name.value for each in first if each is not node)

    def _kernel(self, function: CustomFunction, weight: str) -> cst.BaseExpression | None:
        """The function of an extension that both passes call, the forward pass with the weight and with something else."""
        params = {param.name.value for param in function.forward.params.params[1:]}
        for module, call in self._calls_of_modules(function.forward):
            given = {arg.value.value for arg in call.args if isinstance(arg.value, cst.Name)} & params
            again = (module == other for other, _ in self._calls_of_modules(function.backward))
            if weight in given and len(given) > 1 and any(again):
                return call.func
        return None

    def _calls_of_modules(self, method: cst.FunctionDef) -> Iterator[tuple[str, cst.Call]]:
        """The calls of functions of modules that are not at hand, each with the name of the module."""
        own = {param.name.value for param in method.params.params} | {info.name for info in self._classes.own}
        for node in within(method.body):
            if (
                isinstance(node, cst.Call)
                and isinstance(node.func, cst.Attribute)
                and isinstance(node.func.value, cst.Name)
            ):
                module, known = node.func.value.value, self._names.resolve(node.func)
                strange = any(bound.qualified for bound in self._names.bindings(module, node)) or module.startswith("_")
                if strange and module not in own and not any(name.startswith(_NO_EXTENSIONS) for name in known):
                    yield module, node

    def _gets_weight(self, function: CustomFunction, weight: str) -> bool:
        """Whether a module gives a weight of its own; its class may be none of the statements that were parsed."""
        name = function.node.name.value
        aliases = re.findall(rf"^[ \t]*(\w+) = {name}\.apply\b", self._text, re.MULTILINE)
        called = "|".join((*aliases, rf"{name}\.apply"))
        return re.search(rf"\b(?:{called})\([^()]*\bself\.{weight}\b", self._text) is not None

    def _is_float32(self, forward: cst.FunctionDef) -> bool:
        """Whether what a forward pass returns is float32 in a region, too: it decomposes or solves, and lowers nothing."""
        calls = [node for node in within(forward.body) if isinstance(node, cst.Call)]
        names = {name for call in calls for name in self._names.resolve(call.func)}
        solves = any(each.startswith("torch.") and each.rpartition(".")[2] in _FLOAT32_ONLY for each in names)
        return solves and next(self._multiplied(forward), None) is None

    def _products(self, method: cst.FunctionDef) -> Iterator[cst.CSTNode]:
        """The products of gradients as they came in, half, with something else; also in functions that are called with them."""
        gradients = gradients_of(method)
        yield from self._products_of(method, gradients)
        for call in within(method.body):
            helper = self._names.function(call.func) if isinstance(call, cst.Call) else None
            if isinstance(call, cst.Call) and helper is not None and not self._casts(helper):
                handed = _handed(call, helper, self._half_names(method, call, gradients))
                if next(self._products_of(helper, handed), None) is not None:
                    yield call.func

    def _products_of(self, function: cst.FunctionDef, given: frozenset[str]) -> Iterator[cst.CSTNode]:
        """The products of what some parameters hold, which is half, with something else."""
        for node, factors in self._multiplied(function):
            is_complex = any(isinstance(each, cst.Call) and "fft" in self._tree.text(each.func) for each in factors)
            half = self._half_names(function, node, given)
            if not is_complex and any(half & words_of(each) for each in factors):
                yield node

    def _multiplied(self, method: cst.FunctionDef) -> Iterator[tuple[cst.CSTNode, list[cst.BaseExpression]]]:
        for node in within(method.body):
            if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.MatrixMultiply):
                yield node, [node.left, node.right]
            elif isinstance(node, cst.Call):
                name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
                if isinstance(name, cst.Name) and name.value in _LOWERED:
                    receiver = [node.func.value] if isinstance(node.func, cst.Attribute) else []
                    yield node.func, [*receiver, *(argument.value for argument in node.args)]

    def _half_names(self, method: cst.FunctionDef, place: cst.CSTNode, given: frozenset[str]) -> frozenset[str]:
        """What holds gradients as they came in, where a function that was given some has come to a place."""
        half = set(given)
        saved: set[str] = {"saved_tensors", *(param.name.value for param in method.params.params[1:])} - half
        for node in within(method.body):
            if isinstance(node, cst.Assign) and self._tree.end_order(node)[0] < self._tree.order(place):
                targets = {word for target in node.targets for word in words_of(target.target)}
                words = words_of(node.value)
                is_half = bool(words & half) and not widens(node.value, half, saved)
                is_saved = not is_half and bool(words & (saved | half))
                half = half | targets if is_half else half - targets
                saved = saved | targets if is_saved else saved - targets
        return frozenset(half)

    def _casts(self, method: cst.FunctionDef) -> bool:
        """Whether a method sees to precisions by itself: by casts, by telling others of one, or by a region of its own."""
        calls = [call for call in self._tree.find(cst.Call) if method in self._tree.ancestors(call)]
        casts = any(isinstance(call.func, cst.Attribute) and call.func.attr.value in _CASTS for call in calls)
        casts = casts or any(is_dtype(argument.value) for call in calls for argument in call.args)
        return casts or any(self._contexts.of(each) is not None for each in entered_in(self._tree, method))


def _handed(call: cst.Call, callee: cst.FunctionDef, names: frozenset[str]) -> frozenset[str]:
    """The parameters of a function that a call gives something of some names."""
    order = iter(param.name.value for param in callee.params.params)
    bound = [
        (arg.keyword.value if arg.keyword is not None else next(order, ""), arg) for arg in call.args if not arg.star
    ]
    return frozenset(name for name, arg in bound if names & words_of(arg.value))
