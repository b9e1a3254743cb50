"""Values that hold values in the dtype flow: lists, dictionaries, objects with named fields, one of several modules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from amplint.dtypes.lattice import join_values
from amplint.dtypes.literals import joined
from amplint.dtypes.values import UNKNOWN, Items, Number, Record, Tensor, Value
from amplint.syntax.words import string_value

RECORD_MAKERS = frozenset({"builtins.dict", "collections.OrderedDict", "types.SimpleNamespace", "torch.nn.ModuleDict"})
"""What makes a dictionary, or an object, of its keyword arguments and of the dictionary that it is given."""
MOST_ITEMS = 24
"""A list that grows longer is not followed."""
_ELEMENTS = frozenset({"get", "pop", "__getitem__"})


def text_key(node: cst.BaseExpression | None) -> str | None:
    """The key that an expression spells out as a string; None for any other."""
    if type(node) is not cst.SimpleString:
        return None
    value = string_value(node)
    return value if isinstance(value, str) else None


def listed(node: cst.BaseExpression | None, value: Value) -> list[tuple[str | None, Value]] | None:
    """The keys and values of a list of pairs, `[("conv", nn.Conv2d(3, 8, 3)), ("act", nn.ReLU())]`; None where it is none.

    Args:
        node: the list.
        value: what it holds.
    """
    shown = [each.value for each in node.elements] if isinstance(node, (cst.List, cst.Tuple)) else []
    pairs = value.items if isinstance(value, Items) else ()
    keys = [
        text_key(each.elements[0].value) if isinstance(each, cst.Tuple) and len(each.elements) == 2 else None
        for each in shown
    ]
    if not keys or len(keys) != len(pairs) or None in keys:
        return None
    return [(key, pair.items[1] if isinstance(pair, Items) else UNKNOWN) for key, pair in zip(keys, pairs)]


def filled(parts: Iterable[tuple[str | None, Value]]) -> Record:
    """A dictionary.

    Args:
        parts: keys and values in order; without a key stand what a dictionary is filled up with, and values under keys
            that are not known.
    """
    made = Record()
    for key, value in parts:
        made = updated(made, value) if key is None and isinstance(value, Record) else stored(made, key, value)
    return made


def stored(base: Record, key: str | None, value: Value) -> Record:
    """A dictionary after `base[key] = value`.

    Args:
        base: the dictionary.
        key: the key; None for one that is not known.
        value: what is stored.
    """
    if key is not None:
        return Record(tuple((dict(base.fields) | {key: value}).items()), base.rest)
    fields = tuple((name, join_values(held, value)) for name, held in base.fields)
    return Record(fields, value if base.rest is None else join_values(base.rest, value))


def updated(base: Record, other: Record) -> Record:
    """A dictionary after `base.update(other)`.

    Args:
        base: the dictionary.
        other: what it is filled up with.
    """
    before = stored(base, None, other.rest) if other.rest is not None else base
    return Record(tuple((dict(before.fields) | dict(other.fields)).items()), before.rest)


def held(base: Record, key: str | None) -> Value:
    """What a dictionary holds under a key.

    Args:
        base: the dictionary.
        key: the key; None for one that is not known.
    """
    fields = dict(base.fields)
    if key is None:
        return joined(everything(base))
    return fields.get(key, base.rest if base.rest is not None else UNKNOWN)


def everything(base: Record) -> tuple[Value, ...]:
    """All that a dictionary holds."""
    return (*(value for _, value in base.fields), *(() if base.rest is None else (base.rest,)))


def with_item(base: Items, position: Value | None, value: Value) -> Items:
    """A list after `base[position] = value`; one that is filled in order grows.

    Args:
        base: the list.
        position: the index; None where it is not known.
        value: what is stored.
    """
    index = position.value if isinstance(position, Number) else None
    items = base.items
    if index is None or index < 0:  # any may be meant: what is different is known of none from here on
        alike = all(_is_alike(each, value) for each in items)
        return Items((items or (value,)) if alike else (UNKNOWN,) * len(items))
    place = int(index)
    if place >= MOST_ITEMS:
        return base
    return Items((*items[:place], *[UNKNOWN] * (place - len(items)), value, *items[place + 1 :]))


def _is_alike(one: Value, other: Value) -> bool:
    """Whether two values are tensors of one dtype, or the same thing."""
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.dtype == other.dtype
    return one == other


def repeated(base: Items) -> Items:
    """A list after `base * n`: one that holds nothing yet (`[None] * n`) is about to be filled.

    Args:
        base: the list.
    """
    return Items(tuple(each for each in base.items if each is not UNKNOWN))


def is_asked_for(method: str, nodes: Sequence[cst.BaseExpression | None]) -> bool:
    """Whether a method of a dictionary gives back what stands under a key that is spelled out.

    Args:
        method: the name of the method.
        nodes: its arguments.
    """
    return method in _ELEMENTS and bool(nodes) and text_key(nodes[0]) is not None


def asked(base: Record, method: str, key: str | None) -> Value | None:
    """What a method of a dictionary gives back; None for one that is not known.

    Args:
        base: the dictionary.
        method: the name of the method.
        key: the first argument, where it is a string that is spelled out.
    """
    if method in _ELEMENTS:
        return held(base, key)
    if method == "values":
        return Items(everything(base))
    if method == "items":
        return Items(tuple(Items((UNKNOWN, value)) for value in everything(base)))
    return base if method == "copy" else None
