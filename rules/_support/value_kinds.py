"""What kind of value an expression surely has: a flag, a dtype, a `torch.device`, a string. Unsure is None."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from amplint.diagnostics import Related
from amplint.facts.devices_elsewhere import DevicesElsewhere
from amplint.model import vocabulary
from amplint.model.torch.precision import DTYPES
from amplint.rule import File

from .device_attributes import is_device, is_device_of_one, is_tensor
from .device_strings import stringified, stringified_by_helper

FLAG, DTYPE, DEVICE, NUMBER, INDEX = "flag", "dtype", "device", "number", "device index"

_ANNOTATED = {
    "builtins.bool": FLAG,
    "torch.dtype": DTYPE,
    "torch.device": DEVICE,
    "builtins.str": "",
    "builtins.float": NUMBER,
}
_INDEXES = frozenset({"torch.cuda.current_device", "torch.distributed.get_rank"})
"""Functions that return the number of a device, or of the process that has one for itself."""
_PROPERTY = frozenset({"builtins.property", "functools.cached_property"})
_MOST_CALLS = 8
"""Through so many functions and parameters a device, or its name, is followed."""
_DEVICE_PREFIX = re.compile(r"([a-z]+):")


def kind(file: File, value: cst.BaseExpression) -> str | None:
    """The kind of an expression; for a string its device type with a colon if an index follows, such as `cuda:`.

    Only what every assignment of a name agrees on counts; a name such as `use_amp` of which nothing is known is a flag.
    """
    kinds = {_leaf(file, leaf) for leaf in _leaves(file, value, 3)}
    if len(kinds) == 1:
        [only] = kinds
        if only == DEVICE and f"isinstance({file.tree.text(value)}," in file.source.text:
            return None  # the author asks what it is
        return only if only is not None else _by_name(value)
    return None


def device_elsewhere(file: File, value: cst.BaseExpression) -> tuple[Related, ...]:
    """Where another file makes the device that an expression names, as a second location; empty where this one does."""
    params = (each for each in _leaves(file, value, 3) if isinstance(each, cst.Param))
    return next(filter(None, map(file.fact(DevicesElsewhere).made, params)), ())


def device_texts(file: File, value: cst.BaseExpression) -> set[str] | None:
    """The strings that an expression may be, each as `kind` says it; None when it may be something else."""
    texts = {text for leaf in _leaves(file, value, 3) for text in _texts_behind(file, leaf, _MOST_CALLS)}
    return None if None in texts else {text for text in texts if text is not None}


def _texts_behind(file: File, leaf: cst.CSTNode, calls: int) -> set[str | None]:
    """What a leaf says, or what the functions give back that it calls, for a string or for a device that is made of one."""
    text = _text(leaf)
    if text is not None or not calls:
        return {text}
    if isinstance(leaf, cst.Param):
        behind: Sequence[cst.BaseExpression | None] = file.flow.given_to(leaf)
    elif not isinstance(leaf, cst.Call):
        return {None}
    elif (device := stringified(file, leaf)) is not None or _is_device_made(file, leaf) and len(leaf.args) == 1:
        behind = [device or leaf.args[0].value]
    else:
        behind = _returned(file, leaf)
    leaves = [each for value in behind for each in (_leaves(file, value, 3) if value is not None else [value])]
    found = {text for each in leaves for text in (_texts_behind(file, each, calls - 1) if each is not None else {None})}
    return found or {None}


def kept_texts(file: File, value: cst.BaseExpression) -> set[str]:
    """The strings among what an attribute of `self` may be, each as `kind` says it, whatever else it may be."""
    own = isinstance(value, cst.Attribute) and isinstance(value.value, cst.Name) and value.value.value == "self"
    return {text for leaf in _leaves(file, value, 3) if (text := _text(leaf)) is not None} if own else set()


def names_tensors_device(file: File, value: cst.BaseExpression) -> bool:
    """Whether a value is `str` of a device that may be that of a tensor, or of parameters: on a GPU it has an index then.

    Where the program makes the device anew as well, it may have taken the index off.
    """
    texts = [stringified(file, leaf) or stringified_by_helper(file, leaf) for leaf in _leaves(file, value, 3)]
    devices = [leaf for each in texts if each is not None for leaf in _leaves(file, each, 3)]
    made = any(_is_device_made(file, leaf) for leaf in devices)
    of_tensors = any(is_device(leaf) and is_tensor(file, leaf.value) for leaf in devices)
    return of_tensors and not made and None not in texts


def _by_name(value: cst.CSTNode) -> str | None:
    name = value.attr.value if isinstance(value, cst.Attribute) else value.value if isinstance(value, cst.Name) else ""
    return FLAG if vocabulary.FLAG.fullmatch(name) else None


def _leaves(file: File, value: cst.CSTNode, depth: int) -> Iterator[cst.CSTNode]:
    """The expressions, or parameters, that a value may come from."""
    if isinstance(value, cst.IfExp):
        yield from _leaves(file, value.body, depth)
        yield from _leaves(file, value.orelse, depth)
        return
    named = _names_of_devices(file, value, depth) if depth else []
    if named:
        for each in named:
            yield from _leaves(file, each, depth - 1)
        return
    sources = _sources(file, value) if depth else []
    if not sources:
        yield value
    for source in sources:
        if source is None:
            yield value
        else:
            yield from _leaves(file, source, depth - 1)


def _names_of_devices(file: File, value: cst.CSTNode, depth: int) -> list[cst.BaseExpression]:
    """What devices are made of, where a value is `str` of one: `"cuda:0"` of `torch.device("cuda:0")`; empty for any other."""
    device = stringified(file, value)
    made = list(_leaves(file, device, depth - 1)) if device is not None else []
    calls = [each for each in made if isinstance(each, cst.Call) and _is_device_made(file, each)]
    named = [each.args[0].value for each in calls if len(each.args) == 1]
    return named if len(named) == len(made) else []


def _sources(file: File, value: cst.CSTNode) -> list[cst.CSTNode | None]:
    if isinstance(value, cst.Name):
        found = file.names.bindings(value.value, value)
        return [
            each.value or (each.node if isinstance(each.node, cst.Param) else None)
            for each in found
            if not each.qualified
        ]
    if isinstance(value, cst.Attribute) and isinstance(value.value, cst.Name) and value.value.value == "self":
        return _attribute_sources(file, value)
    return []


def _attribute_sources(file: File, value: cst.Attribute) -> list[cst.CSTNode | None]:
    """What the class assigns to an attribute of `self`; of a property, what it returns."""
    info = file.classes.owner(value)
    method = info.method(value.attr.value) if info is not None else None
    if info is None or method is None:
        return [*info.attributes.get(value.attr.value, ())] if info is not None else []
    is_property = any(file.names.resolve(each.decorator) <= _PROPERTY for each in method.decorators)
    return [each.value for each in file.tree.inside(method, cst.Return)] if is_property else []


def _leaf(file: File, leaf: cst.CSTNode) -> str | None:
    if isinstance(leaf, cst.Param):
        return _of_parameter(file, leaf)
    if isinstance(leaf, cst.Comparison) or isinstance(leaf, cst.UnaryOperation) and isinstance(leaf.operator, cst.Not):
        return FLAG
    if isinstance(leaf, cst.Name) and leaf.value in ("True", "False"):
        return FLAG
    if isinstance(leaf, (cst.Integer, cst.Float)):
        return NUMBER
    if isinstance(leaf, cst.BinaryOperation) and _leaf(file, leaf.left) == _leaf(file, leaf.right) == NUMBER:
        return NUMBER
    if isinstance(leaf, cst.Call) and file.names.all_in(leaf.func, _INDEXES):
        return INDEX
    if isinstance(leaf, cst.Call):
        return DEVICE if _is_device_made(file, leaf) else _text(leaf) or _of_devices(file, _returned(file, leaf))
    if isinstance(leaf, (cst.Name, cst.Attribute)) and file.names.all_in(leaf, DTYPES):
        return DTYPE
    if is_device_of_one(file, leaf):
        return DEVICE
    return _text(leaf)


def _is_device_made(file: File, leaf: cst.CSTNode) -> bool:
    return isinstance(leaf, cst.Call) and file.names.all_in(leaf.func, {"torch.device"})


def _returned(file: File, call: cst.Call) -> list[cst.BaseExpression | None]:
    """What the function of the project returns that a call runs; of a method a subclass may have one of its own."""
    callee = file.callees.of(call, wherever=True)
    if callee is None or callee.receiver is not None:
        return []
    return [each.value for each in file.tree.inside(callee.node, cst.Return)]


def _of_devices(file: File, values: Sequence[cst.BaseExpression | None], calls: int = 1) -> str | None:
    """The kind of values of which each is a device that is made there, or by a function that is called; None for any others."""
    leaves = [leaf for value in values for leaf in (_leaves(file, value, 2) if value is not None else [value])]
    made = leaves and all(leaf is not None and _is_device_given(file, leaf, calls) for leaf in leaves)
    return DEVICE if made else None


def _is_device_given(file: File, leaf: cst.CSTNode, calls: int) -> bool:
    """Whether a device is made, or given back by a function of the project."""
    if _is_device_made(file, leaf):
        return True
    return isinstance(leaf, cst.Call) and calls > 0 and _of_devices(file, _returned(file, leaf), calls - 1) is not None


def _of_parameter(file: File, param: cst.Param) -> str | None:
    if param.annotation is not None:
        [name, *others] = file.names.resolve(param.annotation.annotation)
        found = None if others else _ANNOTATED.get(name)
        return None if found == DEVICE and _may_be_text(file, param) else found
    if isinstance(param.default, cst.Name) and param.default.value in ("True", "False"):
        return FLAG
    if param.default is not None:
        return None
    return DEVICE if file.fact(DevicesElsewhere).made(param) else _of_devices(file, file.flow.given_to(param))


def _may_be_text(file: File, param: cst.Param) -> bool:
    """Whether a parameter has a string as its default, or gets one in a call that is in sight, whatever its annotation says."""
    given = (*file.flow.given_to(param), *([param.default] if param.default is not None else []))
    return any(_text(leaf) is not None for value in given for leaf in _leaves(file, value, 3))


def _text(leaf: cst.CSTNode) -> str | None:
    """The device type that a string names, with a colon when an index follows; None for what is no string."""
    if isinstance(leaf, cst.SimpleString) and isinstance(leaf.evaluated_value, str):
        prefix = _DEVICE_PREFIX.match(leaf.evaluated_value)
        return prefix.group() if prefix else leaf.evaluated_value
    if isinstance(leaf, cst.FormattedString) and leaf.parts and isinstance(leaf.parts[0], cst.FormattedStringText):
        prefix = _DEVICE_PREFIX.match(leaf.parts[0].value)
        return prefix.group() if prefix else None
    return _index_of_begun(leaf)


def _index_of_begun(leaf: cst.CSTNode) -> str | None:
    """The device type of `"cuda:" + str(rank)`, `"cuda:%d" % rank` and `"cuda:{}".format(rank)`, with the colon."""
    match leaf:
        case cst.BinaryOperation(left=cst.SimpleString() as text, operator=cst.Add() | cst.Modulo()):
            begun = _text(text)
        case cst.Call(func=cst.Attribute(value=cst.SimpleString() as text, attr=cst.Name(value="format"))):
            begun = _text(text)
        case _:
            return None
    return begun if begun is not None and begun.endswith(":") else None
