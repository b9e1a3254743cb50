"""Access paths: how an object is reached from a name, through attributes and elements."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst


def path_of(node: cst.CSTNode) -> str:
    """The access path of an expression: names, attributes, and elements (`opts[i]`, `opts[*]`); empty for anything else."""
    # Asked of every node: `isinstance` is many times slower, for nodes are abstract classes.
    if type(node) is cst.Name:
        return node.value
    if type(node) is cst.Attribute:
        base = path_of(node.value)
        return f"{base}.{node.attr.value}" if base else ""
    if type(node) is cst.Subscript and len(node.slice) == 1:
        base = path_of(node.value)
        index = node.slice[0].slice
        inside = "*"
        if type(index) is cst.Index and isinstance(index.value, (cst.SimpleString, cst.Integer, cst.Name)):
            inside = index.value.value.strip("'\"")
        return f"{base}[{inside}]" if base else ""
    return ""


def called(path: str) -> str:
    """What an object is called: `scaler` for `state[scaler]` too, whose key is a name."""
    key = re.search(r"\[([A-Za-z_]\w*)\]$", path)
    if key is not None:
        return key[1]
    return re.sub(r"\[[^]]*\]", "", path).rpartition(".")[2]


def called_name(call: cst.CSTNode | None) -> str:
    """The last name of what is called; empty for anything that is no call or calls something without a name."""
    func = call.func if type(call) is cst.Call else None
    return func.attr.value if type(func) is cst.Attribute else func.value if type(func) is cst.Name else ""


def spelling(call: cst.CSTNode | None) -> tuple[cst.BaseExpression, cst.BaseExpression] | None:
    """What is asked for its first, or last, letters, and these: `precision` and `"bf"` of `precision.startswith("bf")`."""
    match call:
        case cst.Call(
            func=cst.Attribute(value=text, attr=cst.Name(value="startswith" | "endswith")), args=[cst.Arg(value=part)]
        ):
            return text, part
    return None


def literal_key(node: cst.CSTNode | None) -> str:
    """The text of a literal key, of an element of a display or in brackets; empty for anything else."""
    key = index_of(node) if type(node) is cst.Subscript else node
    return key.value.strip("'\"") if type(key) is cst.SimpleString else ""


def asked_element(node: cst.CSTNode) -> tuple[cst.BaseExpression, str] | None:
    """What is asked for an element by a literal key, and the key: `state["optimizer"]`, `state.pop("optimizer")`."""
    match node:
        case cst.Subscript(value=holder) if key := literal_key(node):
            return holder, key
        case cst.Call(
            func=cst.Attribute(value=holder, attr=cst.Name(value="get" | "pop")), args=[cst.Arg(value=asked), *_]
        ) if key := literal_key(asked):
            return holder, key
    return None


def index_of(node: cst.Subscript) -> cst.BaseExpression | None:
    """What stands in brackets; None for several indexes, and for a slice."""
    first = node.slice[0].slice
    return first.value if len(node.slice) == 1 and type(first) is cst.Index else None


def computed_attribute(call: cst.CSTNode) -> tuple[cst.BaseExpression, str] | None:
    """Whose attribute `getattr` or `setattr` asks for by a computed name, and what stands for all those that begin alike.

    The attributes `f"scaler{index}"` of an object are one that is called `scaler{}`.
    """
    match call:
        case cst.Call(
            func=cst.Name(value="getattr" | "setattr"),
            args=[
                cst.Arg(value=of),
                cst.Arg(value=cst.FormattedString(parts=[cst.FormattedStringText(value=prefix), *_])),
                *_,
            ],
        ):
            return of, f"{prefix}{{}}"
    return None


def option_key(node: cst.CSTNode) -> str:
    """The name of what is asked for by a literal key: of `cfg["amp"]`, `cfg.get("amp")` and `getattr(args, "amp", False)`; else
    empty."""
    if type(node) is cst.Subscript:
        return literal_key(node)
    key = {"get": 0, "getattr": 1}.get(called_name(node))
    if type(node) is not cst.Call or key is None or len(node.args) <= key:
        return ""
    return literal_key(node.args[key].value)


def elements(holder: cst.BaseExpression | None) -> Iterator[tuple[str, cst.DictElement | cst.Arg]]:
    """The elements of a dict, be it a display or a call with keywords, by literal key."""
    if isinstance(holder, cst.Dict):
        yield from ((literal_key(each.key), each) for each in holder.elements if isinstance(each, cst.DictElement))
    elif isinstance(holder, cst.Call):
        yield from ((arg.keyword.value, arg) for arg in holder.args if arg.keyword is not None)


def element_of(holder: cst.BaseExpression, asked: cst.BaseExpression) -> cst.BaseExpression:
    """What a display of a dict holds under the literal key that is asked for; the display itself where that does not show.

    Args:
        holder: what may be a display.
        asked: what names an element of it, or all of it.
    """
    key = literal_key(asked) if type(asked) is cst.Subscript and type(holder) is cst.Dict else ""
    if not key or any(isinstance(each, cst.StarredDictElement) for each in cst.ensure_type(holder, cst.Dict).elements):
        return holder
    return next((each.value for name, each in elements(holder) if name == key), holder)


def may_hold(holder: cst.BaseExpression, asked: cst.BaseExpression) -> bool:
    """Whether what is asked for may be in a display; it is not, if all the literal keys of a dict are others.

    Args:
        holder: what may be a display.
        asked: what names an element of it, or all of it.
    """
    key = literal_key(asked) if type(asked) is cst.Subscript else ""
    shown = holder.elements if type(holder) is cst.Dict else ()
    keys = [literal_key(each.key) if isinstance(each, cst.DictElement) else "" for each in shown]
    return not (key and keys and all(keys)) or key in keys


def displayed(value: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The elements of a list, a tuple or a dict, as far as a display or a comprehension shows them; else the value itself."""
    if isinstance(value, (cst.List, cst.Tuple)):
        return [each.value for each in value.elements]
    if isinstance(value, cst.Dict):
        return [each.value for each in value.elements]
    if isinstance(value, cst.ListComp):
        return [value.elt]
    return [value.value] if isinstance(value, cst.DictComp) else [value]
