"""Reading and editing the arguments of a call, for the rules about how `torch.amp` is called."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from amplint.diagnostics import Edit
from amplint.rule import File

_OPENING = re.compile(r"(?:[\s\\)]|#[^\r\n]*)*\(")
"""From the end of what is called to behind the parenthesis of the call."""


def has_star(call: cst.Call) -> bool:
    """Whether arguments are unpacked into the call, so that nobody knows which parameter gets what.

    So it is for a generator without parentheses of its own, beside which no other argument may stand.
    """
    return any(arg.star or isinstance(arg.value, cst.GeneratorExp) and not arg.value.lpar for arg in call.args)


def positionals(call: cst.Call) -> list[cst.Arg]:
    """The arguments given by position."""
    return [arg for arg in call.args if arg.keyword is None and not arg.star]


def keyword(call: cst.Call, name: str) -> cst.Arg | None:
    """The argument given by this keyword."""
    return next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def quoted(file: File, text: str) -> str:
    """`text` as a string literal, in the quotes that the file prefers."""
    single = file.source.text.count("'") > file.source.text.count('"')
    return f"'{text}'" if single else f'"{text}"'


def insert_arguments(
    file: File, call: cst.Call, new: Sequence[str], names: Sequence[str], index: int = 0
) -> list[Edit]:
    """Insert the arguments `new` before argument `index`; of the positional ones from there on, those with a name become
    keywords.

    `names` belong to the arguments from `index` on; an empty one leaves its argument as it is. Where the neighbour has a row
    of its own, so has each new argument.
    """
    edits: list[Edit] = []
    rest = call.args[index:]
    for place, arg in enumerate(rest):
        start = file.tree.span(arg)[0]
        named = f"{names[place]}=" if arg.keyword is None and place < len(names) and names[place] else ""
        before = "".join(f"{text},{_joint(file, arg)}" for text in new) if place == 0 else ""
        if before or named:
            edits.append(Edit(start, start, before + named))
    if new and not rest:
        edits.append(_append(file, call, new))
    return edits


def without_item(file: File, item: cst.CSTNode, items: Sequence[cst.CSTNode]) -> Edit:
    """Delete one of several items that commas part, such as arguments, with a comma."""
    index, (start, end) = list(items).index(item), file.tree.span(item)
    if index:
        return Edit(file.tree.span(items[index - 1])[1], end, "")
    return Edit(start, file.tree.span(items[1])[0] if len(items) > 1 else end, "")


def _append(file: File, call: cst.Call, new: Sequence[str]) -> Edit:
    if call.args:
        end = file.tree.span(call.args[-1])[1]
        return Edit(end, end, "".join(f",{_joint(file, call.args[-1])}{text}" for text in new))
    # Right behind the parenthesis: a comment may stand inside it.
    opening = _OPENING.match(file.source.text, file.tree.span(call.func)[1])
    assert opening is not None
    return Edit(opening.end(), opening.end(), ", ".join(new))


def _joint(file: File, arg: cst.Arg) -> str:
    """What stands between an argument and a new neighbour: a line end where the argument begins its row, else a space."""
    start = file.tree.span(arg)[0]
    indent = file.source.text[file.source.line_starts[file.source.position(start).row - 1] : start]
    return " " if indent.strip() else file.source.newline + indent


def in_format_string(file: File, node: cst.CSTNode) -> bool:
    """Whether a node stands inside an f-string, whose quotes a fix could break."""
    return file.tree.enclosing(node, cst.FormattedString) is not None
