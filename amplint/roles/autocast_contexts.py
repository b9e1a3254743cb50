"""Values of context managers: which autocast region, if any, an expression enters.

A context is a value like any other: it is held in variables and attributes, returned by helpers, preset by
`functools.partial`, chosen by a conditional expression against `nullcontext()`. `Contexts.of` follows all of these.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.model.events import NO_GRAD, Region
from amplint.model.records import changed, frozen
from amplint.model.torch import names as torch_names
from amplint.roles.context_values import ContextValues
from amplint.roles.region_makers import PARTIAL, RegionMakers
from amplint.roles.region_settings import either
from amplint.roles.replaced_methods import ReplacedMethods
from amplint.roles.wrapping_decorators import WrappingDecorators
from amplint.syntax.classes import Classes
from amplint.syntax.names import Names
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree

_NO_GRAD = frozenset({"torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"})
_GENERATED = frozenset({"contextlib.contextmanager", "contextlib.asynccontextmanager"})
_WIDENS = "GIVES_BACK_FLOAT32"
"""The attribute by which a wrapper says that what the prepared models of a library give back is made float32."""
_MAX_DEPTH = 8


@frozen
class RegionSwitch:
    """What decides whether a region is entered, or switched on: `test`, with the truth `wanted`. `leaves_out` says that
    otherwise nothing is entered; else it is a region that is switched off."""

    test: cst.BaseExpression
    wanted: bool
    leaves_out: bool


class Contexts(RegionMakers):
    """Reads context managers of one file.

    Args:
        tree: the file.
        names: what its names mean.
        classes: its classes, whose attributes may hold contexts.
        imports: leads to context managers of other files.
        abroad: whether the functions of other files know what this file gives them.
    """

    def __init__(
        self,
        tree: Tree,
        names: Names,
        classes: Classes | None = None,
        imports: Imports | None = None,
        abroad: bool = True,
    ) -> None:
        imports = imports or Imports(tree, names)
        classes = classes or Classes(tree, names, imports)
        super().__init__(tree, names, classes, ContextValues(tree, names, classes, imports, abroad))
        self._tree, self._imports = tree, imports
        self._replaced = ReplacedMethods(tree, classes, self.values)
        self._wrapping = WrappingDecorators(tree, self._values.function)
        self._decorating: dict[cst.FunctionDef, list[Region]] = {}

    def for_itself(self) -> Contexts:
        """The same files, where those that this one calls do not know what it gives them."""
        return Contexts(self._tree, self._names, self._classes, self._imports, abroad=False)

    def of(self, expression: cst.BaseExpression) -> Region | None:
        """The region that `with expression:` enters; None when it is not known to enter one."""
        return self._of(expression, 0)

    def stack(self, node: cst.CSTNode) -> tuple[Region, ...]:
        """The regions around `node` within its function, outermost first: decorators of the function, then `with` items."""
        return tuple(region for region, _ in self.entries(node))

    def entries(self, node: cst.CSTNode) -> tuple[tuple[Region, cst.BaseExpression], ...]:
        """The regions of `stack`, each with the expression that enters it."""
        return self._entries(node, 0)

    def _entries(self, node: cst.CSTNode, depth: int) -> tuple[tuple[Region, cst.BaseExpression], ...]:
        found: list[tuple[Region, cst.BaseExpression]] = []
        below: cst.CSTNode = node
        for above in self._tree.ancestors(node):
            regions: list[tuple[Region | None, cst.BaseExpression]] = []
            if type(above) is cst.With and below is above.body:
                regions = [(self._of(item.item, depth), item.item) for item in above.items]
            elif type(above) is cst.FunctionDef and below is above.body:
                regions = [(self._by_decorator(each.decorator, depth), each.decorator) for each in above.decorators]
            found.extend((region, each) for region, each in reversed(regions) if region is not None)
            if type(above) is cst.FunctionDef and below is above.body:
                break
            below = above
        return tuple(reversed(found))

    def chosen_by(self, node: cst.BaseExpression) -> RegionSwitch | None:
        """What the region that `with node:` enters is switched by, where it is spelled out there; None where it is not."""
        held = self._values.behind(node) if isinstance(node, (cst.Name, cst.Attribute)) else []
        if len(held) == 1:
            return self.chosen_by(held[0]) if isinstance(held[0], cst.Call) else None
        if isinstance(node, cst.IfExp):
            sides = self.of(node.body), self.of(node.orelse)
            return RegionSwitch(node.test, sides[0] is not None, True) if sides.count(None) == 1 else None
        switch = (
            self.switch(node)
            if isinstance(node, cst.Call) and self._names.all_in(node.func, torch_names.AUTOCAST)
            else None
        )
        return RegionSwitch(switch, True, False) if switch is not None else None

    def decorating(self, function: cst.FunctionDef) -> list[Region]:
        """The regions that the decorators of a function put around its body, or a library around a method that overrides one
        of its own, outermost first."""
        found = self._decorating.get(function)
        if found is None:
            entered = [each.decorator for each in (*self._of_library(function), *function.decorators)]
            regions = [self._by_decorator(each, 0) for each in (*self._replaced.around(function), *entered)]
            found = self._decorating[function] = [region for region in regions if region is not None]
        return found

    def is_wrapped(self, function: cst.FunctionDef) -> bool:
        """Whether a decorator of the project calls a function from another one, which may give it other values."""
        return any(self._wrapping.runs(each.decorator) for each in function.decorators)

    def _by_decorator(self, decorator: cst.BaseExpression, depth: int) -> Region | None:
        """The region that a decorator puts around a function: its own, or that in which it always runs the function."""
        region = self._of(decorator, depth)
        runs = self._wrapping.runs(decorator) if region is None and depth <= _MAX_DEPTH else []
        if not runs:
            return region
        around = [entries[-1][0] if (entries := self._entries(run, depth + 1)) else None for run in runs]
        found = either(around)
        return found if found is not None and (found.enabled == "no" or None not in around) else None

    def _of_library(self, function: cst.FunctionDef) -> Sequence[cst.Decorator]:
        """The decorators of the method of a wrapper that a method overrides: what the library puts around every override."""
        owner, name = self._classes.owner(function), function.name.value
        if owner is None or owner.methods.get(name) is not function:
            return ()
        overridden = next((base.methods[name] for base in owner.lineage[1:] if name in base.methods), None)
        if overridden is None or not self._tree.home(overridden).source.path.endswith(".pyi"):
            return ()
        return overridden.decorators

    def only_makes(self, call: cst.Call) -> bool:
        """Whether a call does nothing but make an autocast region, which somebody has yet to enter."""
        if self.maker(call.func) is not None:
            return True
        helper, region = self._values.function(call.func), self.of(call)
        return region is not None and region.device != "grad" and helper is not None and self.is_generated(helper)

    def helpers(self, node: cst.BaseExpression, depth: int = 0) -> list[cst.FunctionDef]:
        """The functions of the project whose calls give a context: `half()` in `with half():`.

        Args:
            node: what is entered.
            depth: how many steps led here.
        """
        if depth > _MAX_DEPTH:
            return []
        helper = self._values.function(node.func) if isinstance(node, cst.Call) else None
        if helper is not None:
            return [helper]
        return [found for each in self._values.behind(node) for found in self.helpers(each, depth + 1)]

    def is_generated(self, function: cst.FunctionDef) -> bool:
        """Whether a function is a generator that a `with` statement runs, up to its `yield` and on from there."""
        return any(self._names.all_in(decorator.decorator, _GENERATED) for decorator in function.decorators)

    # -- reading ---------------------------------------------------------------------------------------------------

    def _of(self, node: cst.BaseExpression, depth: int) -> Region | None:
        if depth > _MAX_DEPTH:
            return None
        behind = self._values.behind(node)
        if isinstance(node, cst.Call) and not behind:
            return self._called(node.func, node.args, depth)
        return either([self._of(each, depth + 1) for each in behind]) if behind else self._bare(node)

    def _bare(self, node: cst.BaseExpression) -> Region | None:
        return NO_GRAD if self._names.all_in(node, _NO_GRAD) else None

    def _called(self, func: cst.BaseExpression, args: Sequence[cst.Arg], depth: int) -> Region | None:
        """The region that a call makes: of the class, of a partial, of a lambda or a helper, or of one that is chosen."""
        if depth > _MAX_DEPTH:
            return None
        if self._names.any_in(func, torch_names.AUTOCAST):
            return self.region(self._names.resolve(func), args)
        if self._names.any_in(func, _NO_GRAD):
            return NO_GRAD
        if self._names.all_in(func, {"torch.set_grad_enabled"}):
            first = args[0].value if args else None
            return NO_GRAD if isinstance(first, cst.Name) and first.value == "False" else None
        if type(func) is cst.Lambda:
            return self._of(func.body, depth + 1)
        if type(func) is cst.Call and func.args and self._names.all_in(func.func, PARTIAL):
            return self._called(func.args[0].value, [*func.args[1:], *args], depth + 1)
        if type(func) is cst.Call:
            chooser = self._values.function(func.func)
            given = self._values.given_back(chooser) if chooser is not None else self._values.behind(func)
            return either([self._called(each, args, depth + 1) for each in given]) if given else None
        helper = self._values.function(func)
        if helper is not None:
            return self._returned(helper, args, depth)
        behind = self._values.behind(func)
        return either([self._called(each, args, depth + 1) for each in behind]) if behind else None

    def _returned(self, helper: cst.FunctionDef, args: Sequence[cst.Arg], depth: int) -> Region | None:
        given = [self._made(value, helper, args, depth + 1) for value in self._values.given_back(helper)]
        if self.is_generated(helper):
            for pause in self._tree.inside(helper, cst.Yield):
                if self._tree.enclosing(pause, cst.FunctionDef) is helper:
                    around = self._entries(pause, depth + 1)
                    given.append(self._made(around[-1][1], helper, args, depth + 1) if around else None)
        region = either(given) if given else None
        if region is None:
            return None
        owner = self._classes.owner(helper)
        if owner is not None and owner.values(_WIDENS):
            region = changed(region, widens=True)
        return changed(region, enabled="no") if self._is_switched_off(args, helper) else region

    def _made(
        self, node: cst.BaseExpression, helper: cst.FunctionDef, args: Sequence[cst.Arg], depth: int
    ) -> Region | None:
        """The region that an expression in a helper is for one call of the helper."""
        behind = self._values.behind(node)
        if len(behind) == 1 and isinstance(behind[0], cst.Call) and isinstance(node, cst.Name):
            return self._made(behind[0], helper, args, depth + 1) if depth <= _MAX_DEPTH else None
        if isinstance(node, cst.Call) and not behind:
            return self._called(node.func, self._unpacked.handed_on(node.args, helper, args), depth)
        return self._of(node, depth)

    def _is_switched_off(self, args: Sequence[cst.Arg], helper: cst.FunctionDef) -> bool:
        """Whether a call tells a helper `enabled=False`, for the region that it makes, whatever it makes of that first."""
        params = helper.params
        names = {param.name.value for param in (*params.params, *params.kwonly_params)}
        told = next((arg.value for arg in args if arg.keyword is not None and arg.keyword.value == "enabled"), None)
        return (params.star_kwarg is not None or "enabled" in names) and self.flag(told) == "no"
