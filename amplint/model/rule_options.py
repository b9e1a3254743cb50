"""What a rule lets a project choose."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from amplint.model.records import frozen

Value = TypeVar("Value", int, tuple[str, ...])


@frozen
class Option(Generic[Value]):
    """One option of a rule: the code of the rule, a name, the value that counts where the project names none, which says of what
    kind its values are (whole numbers above 0, or lists of strings), and what it is for, in one sentence."""

    code: str
    name: str
    default: Value
    doc: str


def options_section(options: Iterable[Option[Any]]) -> str:
    """What the page of a rule says of its options, in Markdown; empty when it has none."""
    lines = [f"- `{each.name}` ({_toml(each.default)}): {each.doc}" for each in options]
    return "\n".join(["\n## Options", *lines, ""]) if lines else ""


def _toml(value: int | tuple[str, ...]) -> str:
    return str(value) if isinstance(value, int) else f"[{', '.join(map(json.dumps, value))}]"
