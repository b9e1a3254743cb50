"""Values of a JSON text, each with its place."""

from __future__ import annotations

import json
import re
from typing import Any

from amplint.model.records import frozen

_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^,\]}\s]+")
_UNREAD = ("outputs", "attachments")
"""Fields in which nothing is looked for, and which may be nearly all of a notebook: they are passed over at once."""


@frozen
class Node:
    """A JSON value with its place in the text; what is neither text, list nor object is None, and so is what is not read."""

    value: Any
    start: int
    end: int


def scan(raw: str, start: int) -> Node:
    """Find a value of a valid JSON text, and the values in it, each with its place.

    Args:
        raw: the text.
        start: where the value begins, or the blanks before it.
    """
    start = _skip(raw, start)
    opening = raw[start]
    if opening == '"':
        value, end = _DECODER.raw_decode(raw, start)
        return Node(value, start, end)
    if opening == "[":
        items: list[Node] = []
        end = _skip(raw, start + 1)
        while raw[end] != "]":
            items.append(scan(raw, end))
            end = _skip(raw, items[-1].end)
            end = _skip(raw, end + 1) if raw[end] == "," else end
        return Node(items, start, end + 1)
    if opening == "{":
        fields: dict[str, Node] = {}
        end = _skip(raw, start + 1)
        while raw[end] != "}":
            key = scan(raw, end)
            following = _skip(raw, key.end) + 1
            fields[key.value] = _passed(raw, following) if key.value in _UNREAD else scan(raw, following)
            end = _skip(raw, fields[key.value].end)
            end = _skip(raw, end + 1) if raw[end] == "," else end
        return Node(fields, start, end + 1)
    match = _SCALAR.match(raw, start)
    assert match is not None
    return Node(None, start, match.end())


def _passed(raw: str, start: int) -> Node:
    """A value in which nothing is looked for."""
    start = _skip(raw, start)
    return Node(None, start, _DECODER.raw_decode(raw, start)[1])


def _skip(raw: str, position: int) -> int:
    match = _BLANK.match(raw, position)
    assert match is not None
    return match.end()
