"""Comments, and suppressions in odd places."""

from __future__ import annotations

import re
from random import Random

from ..corpus import Corpus
from .lines import indent_of, row, split

_CODES = [
    *"""
AMP101 AMP103 AMP107 AMP201 AMP209 AMP900 AMP901 AMP902 AMP1 E501 clip-before-unscale deprecated-amp-api AMP999 ALL
""".split(),
    "",
]
_COMMENTS = r"""
# noqa
# noqa: {}
#noqa:{}
# NOQA : {}, {}
# noqa:{},F401 why
# amplint: ignore
# amplint: ignore[{}]
# amplint: ignore[{}, {}]
# amplint:ignore[{}] why
# amplint: file-ignore[{}]
# amplint: file-ignore
# amplint: ignore[
# amplint: ignore[]
# amplint: ignor[{}]
# type: ignore # amplint: ignore[{}] # noqa: {}
# words ü 变
# TODO: scaler.step(optimizer)
# fmt: off
#
# expect: {} safe
#!amplint: ignore
# amplint: ignore[{}] # words
# before amplint: ignore[{}]
# 	 amplint  :  ignore [ {} , {} ]
# noqa: {}# noqa
""".strip("\n").split("\n")


def _comment(random: Random) -> str:
    text = random.choice(_COMMENTS)
    return text.format(*(random.choice(_CODES) for _ in range(text.count("{}"))))


def behind(random: Random, text: str, corpus: Corpus) -> str:
    """A comment at the end of a line, wherever that is."""
    lines = split(text)
    if not lines:
        return text
    at = row(random, lines)
    lines[at] = f"{lines[at].rstrip()}{random.choice(('  ', ' ', ''))}{_comment(random)}\n"
    return "".join(lines)


def behind_each(random: Random, text: str, corpus: Corpus) -> str:
    """A comment at the end of many lines."""
    lines = split(text)
    share = random.choice((0.2, 1))
    changed = (
        f"{line.rstrip()}  {_comment(random)}\n" if line.strip() and random.random() < share else line for line in lines
    )
    return "".join(changed)


def alone(random: Random, text: str, corpus: Corpus) -> str:
    """A comment on a line of its own, indented as the next one or not."""
    lines = split(text)
    if not lines:
        return text
    at = row(random, lines)
    indent = random.choice((indent_of(lines[at]), "", "   "))
    return "".join([*lines[:at], f"{indent}{_comment(random)}\n", *lines[at:]])


def inside(random: Random, text: str, corpus: Corpus) -> str:
    """A comment within brackets."""
    lines = split(text)
    if not lines:
        return text
    at = row(random, lines)
    places = [match.end() for match in re.finditer(r"[(\[{,]|(?=[)\]}])", lines[at])]
    for place in random.sample(places, min(len(places), random.choice((1, 1, 2)))):
        lines[at] = f"{lines[at][:place]}  {_comment(random)}\n{lines[at][place:]}"
    return "".join(lines)


def in_string(random: Random, text: str, corpus: Corpus) -> str:
    """A comment that is none, in a string."""
    lines = split(text)
    if not lines:
        return text
    at = row(random, lines)
    quoted = random.choice(("'{}'", '"""{}"""', '"""\n{}\n"""', "f'{{1}}{}'")).format(
        _comment(random).replace("{", "").replace("}", "")
    )
    return "".join([*lines[:at], f"{indent_of(lines[at])}{quoted}\n", *lines[at:]])


ALL = (behind, behind, behind_each, alone, alone, inside, in_string)
