"""The settings of autocast regions: for which device, in which dtype, switched on or off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

import libcst as cst

from amplint.model.events import Region
from amplint.model.torch import names as torch_names
from amplint.model.torch.precision import FLOAT32
from amplint.roles.context_values import ContextValues
from amplint.roles.region_dtypes import NAMED_DTYPES, RegionDtypes, one_dtype
from amplint.roles.unpacked_arguments import UnpackedArguments
from amplint.syntax.access_paths import path_of
from amplint.syntax.classes import Classes
from amplint.syntax.names import Names
from amplint.syntax.tree import Tree

_PRESENT = frozenset({"cuda", "mps", "cpu"})
"""Device types between which programs choose by what is there."""
_OF_DEVICE = frozenset({"torch.device", "builtins.str"})
_OF_WHAT_IS_THERE = frozenset({"torch.accelerator.current_accelerator"})
_MOST_STEPS = 8

UNKNOWN_REGION = Region("?", "?", "maybe")

RegionArguments = dict[str, cst.BaseExpression]


class RegionSettings(RegionDtypes):
    """Reads what classes of autocast are given.

    Args:
        tree: the file.
        names: what its names mean.
        classes: its classes, whose attributes may hold settings.
        values: what expressions may be, one step back.
    """

    def __init__(self, tree: Tree, names: Names, classes: Classes, values: ContextValues) -> None:
        super().__init__(tree, names, classes, values)
        self._unpacked = UnpackedArguments(tree, names, values)

    def region(self, meanings: frozenset[str], args: Sequence[cst.Arg]) -> Region:
        """The region that a call of a class of autocast makes.

        Args:
            meanings: what the class may be.
            args: what it is given.
        """
        return either([self._region(meanings, way) for way in self._unpacked.of(args)]) or UNKNOWN_REGION

    def scaler_is_enabled(self, args: Sequence[cst.Arg]) -> str:
        """Whether a scaler that is made of some arguments is enabled: "yes", "no" or "maybe".

        Args:
            args: what its class is given.
        """
        found = {self._is_enabled(way) for way in self._unpacked.of(args)}
        return found.pop() if len(found) == 1 else "maybe"

    def _is_enabled(self, args: Sequence[cst.Arg]) -> str:
        given = next((arg.value for arg in args if arg.keyword is not None and arg.keyword.value == "enabled"), None)
        is_open = given is None and any(arg.star for arg in args)
        return "maybe" if is_open else self.flag(given)

    def _region(self, meanings: frozenset[str], args: Sequence[cst.Arg]) -> Region:
        device = _own_device(meanings)
        given = region_arguments(meanings, args)
        is_open = any(arg.star for arg in args)
        if "device_type" in given:
            device = self.device(given["device_type"])
        elif is_open and not meanings.isdisjoint(torch_names.AUTOCAST_GENERIC):
            device = ""
        enabled = "maybe" if is_open or any(name not in torch_names.AUTOCAST for name in meanings) else "yes"
        cached = self.flag(given.get("cache_enabled")) == "yes"
        enabled = self.flag(given.get("enabled"), enabled)
        dtype = self._while_enabled(given.get("dtype"), given.get("enabled"))
        dtypes = {"?"} if is_open and "dtype" not in given else self.lowering(dtype, device)
        if FLOAT32 in dtypes and len(dtypes) > 1:  # a run that chooses it wants no lower precision
            enabled, dtypes = "maybe" if enabled == "yes" else enabled, dtypes - {FLOAT32}
        return Region(device or "?", one_dtype(dtypes), enabled, cached)

    def _while_enabled(
        self, dtype: cst.BaseExpression | None, enabled: cst.BaseExpression | None
    ) -> cst.BaseExpression | None:
        """The dtype of a region where it is enabled: that of the side which one and the same flag takes."""
        flag = path_of(enabled) if enabled is not None else ""
        chosen = dtype if type(dtype) is cst.IfExp else None
        return chosen.body if chosen is not None and flag and path_of(chosen.test) == flag else dtype

    def device(self, node: cst.BaseExpression) -> str:
        """The device type that an expression names: CUDA where it may be that or the CPU, as what is there decides; "?" when
        it is chosen elsewhere."""
        types = self._device_types(node, ())
        return next(iter(types)) if len(types) == 1 else "cuda" if "cuda" in types and types <= _PRESENT else "?"

    def _device_types(self, node: cst.BaseExpression, asked: tuple[object, ...]) -> set[str]:
        """The device types that an expression may name, or that of the `torch.device` that it may be.

        Args:
            node: the expression.
            asked: what it was reached by: `device = torch.device(device)` asks for a name again, which adds nothing.
        """
        match node:
            case cst.SimpleString():
                return {str(node.evaluated_value).split(":")[0]}
            case cst.FormattedString(parts=[cst.FormattedStringText(value=text), *_]) if ":" in text:
                return {text.split(":")[0]}
            case cst.Attribute(attr=cst.Name(value="type")):
                parts = [node.value]
            case cst.Call(args=[cst.Arg(value=first), *_]) if self._names.all_in(node.func, _OF_DEVICE):
                parts = [first]
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="get")), args=[_, cst.Arg(value=default)]):
                # Options may ask for the CPU, but then an author who names CUDA here has not the CPU in mind.
                return {"cuda", "cpu"} if self._device_types(default, asked) == {"cuda"} else {"?"}
            case cst.IfExp() | cst.Name():
                parts = self._values.behind(node)
            case cst.Call() if self._names.all_in(node.func, _OF_WHAT_IS_THERE):
                return set(_PRESENT)
            case cst.Call():
                parts = self._values.returned(node)
            case _:
                parts = self.values(node)
        step = id(self._names.scope(node)), path_of(node)
        if step[1] and step in asked:
            return set()
        if not parts or len(asked) > _MOST_STEPS:
            return {"?"}
        found = {device for part in parts for device in self._device_types(part, (*asked, step))}
        return {"?"} if found == {"cpu"} and self._may_be_given_another(node) else found

    def _may_be_given_another(self, node: cst.BaseExpression) -> bool:
        """Whether all that is known of a parameter is its default: callers that train on a GPU give it another value."""
        bindings = self._names.bindings(node.value, node) if isinstance(node, cst.Name) else []
        is_left_out = any(isinstance(each.node, cst.Param) and each.node.default is not None for each in bindings)
        return is_left_out and isinstance(node, cst.Name) and not self._values.given(node)

    def flag(self, node: cst.BaseExpression | None, default: str = "yes") -> str:
        """Whether an `enabled=` argument is "yes", "no" or "maybe".

        Args:
            node: the expression of the argument; None where it is not given.
            default: the answer where it is not given, or is True: what a region asks for otherwise.
        """
        if node is None:
            return default
        values = self.values(node)
        asked = values[0] if len(values) == 1 else node
        truth = False if self._is_never(asked) else self._truth(asked)
        return "maybe" if truth is None else default if truth else "no"

    def _is_never(self, node: cst.BaseExpression) -> bool:
        """Whether a flag is on only where a dtype is another one: `use_amp and dtype == float16`, where `dtype` is bfloat16 if
        `use_amp`."""
        parts = list(_conjuncts(node))
        asked = {path_of(part) for part in parts} - {""}
        for part in parts if asked else ():
            match part:
                case cst.Comparison(
                    left=cst.Name() as name, comparisons=[cst.ComparisonTarget(cst.Equal(), comparator=wanted)]
                ):
                    chosen = self.values(name)
                    if len(chosen) == 1 and isinstance(chosen[0], cst.IfExp) and path_of(chosen[0].test) in asked:
                        told = self.dtypes(chosen[0].body, 1), self.dtypes(wanted, 1)
                        return told[0].isdisjoint(told[1]) and "?" not in told[0] | told[1]
        return False

    def _truth(self, node: cst.BaseExpression) -> bool | None:
        """Whether an expression is true; None when that cannot be told."""
        if isinstance(node, cst.Name) and node.value in ("True", "False"):
            return node.value == "True"
        if isinstance(node, cst.SimpleString):
            return bool(node.evaluated_value)
        # A dtype that landed there is as good as True.
        return True if self._names.all_in(node, NAMED_DTYPES) else None


def _conjuncts(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What is asked for together: the sides of `and`."""
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.And):
        yield from (*_conjuncts(node.left), *_conjuncts(node.right))
    else:
        yield node


def either(regions: Sequence[Region | None]) -> Region | None:
    """The region that is entered where one of several is, None standing for none; None where that is not known."""
    known = [region for region in regions if region is not None and region.device != "grad"]
    if not known:
        return next((region for region in regions if region is not None), None) if len(regions) == 1 else None
    first = known[0]
    device = first.device if all(region.device == first.device for region in known) else "?"
    entered = [region for region in known if region.enabled != "no"] or known
    dtype = one_dtype({region.dtype for region in entered})
    same = all(region.enabled == first.enabled for region in known)
    certain = same and (len(known) == len(regions) or first.enabled == "no")
    cached = all(region.cached for region in known)
    widens = any(region.widens for region in known)
    return Region(device, dtype, first.enabled if certain else "maybe", cached, widens)


def _own_device(meanings: frozenset[str]) -> str:
    """The device type of a class that serves only one; empty for the others."""
    return next(
        (torch_names.AUTOCAST_DEVICE[name] for name in sorted(meanings) if name in torch_names.AUTOCAST_DEVICE), ""
    )


def region_arguments(meanings: frozenset[str], args: Sequence[cst.Arg]) -> RegionArguments:
    """The arguments of a class of autocast by the names of its parameters.

    Args:
        meanings: what the class may be.
        args: what it is given.
    """
    generic = not meanings.isdisjoint(torch_names.AUTOCAST_GENERIC) or not _own_device(meanings)
    order = torch_names.AUTOCAST_PARAMETERS if generic else ("enabled", "dtype", "cache_enabled")
    positional = takewhile(lambda arg: not arg.star, (arg for arg in args if arg.keyword is None))
    given: RegionArguments = dict(zip(order, (arg.value for arg in positional)))
    given.update({arg.keyword.value: arg.value for arg in args if arg.keyword is not None})
    return given
