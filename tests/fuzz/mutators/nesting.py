"""Depth: parentheses, blocks, chains."""

from __future__ import annotations

from random import Random

from ..corpus import Corpus, tokens
from .lines import indent_of, row, split

_DEPTHS = (3, 12, 40, 95, 150, 400)


def parentheses(random: Random, text: str, corpus: Corpus) -> str:
    """Put brackets around a word."""
    found = [token for token in tokens(text) if token.kind in ("name", "number", "string")]
    if not found:
        return text
    token, depth = random.choice(found), random.choice((1, 1, 2, *_DEPTHS))
    opening, closing = random.choice(
        (("(", ")"), ("(", ")"), ("[", "]"), ("f(", ")"), ("(lambda: ", ")()"), ("{1: ", "}"))
    )
    return f"{text[: token.start]}{opening * depth}{token.text}{closing * depth}{text[token.end :]}"


def chain(random: Random, text: str, corpus: Corpus) -> str:
    """Append a long chain of attributes, calls or operators to a word."""
    found = [token for token in tokens(text) if token.kind in ("name", "number")]
    if not found:
        return text
    token, depth = random.choice(found), random.choice((1, 2, *_DEPTHS))
    link = random.choice(
        (".a", ".to(x)", "[0]", " + 1", " and x", " or scaler", "()", ".float()", " if x else y", " * 2.0", "\n.b")
    )
    return text[: token.end] + link * depth + text[token.end :]


def deep_block(random: Random, text: str, corpus: Corpus) -> str:
    """Put a line under many conditions."""
    lines = split(text)
    if not lines:
        return text
    at, depth = row(random, lines), random.choice((3, 8, 18, 60))
    indent = indent_of(lines[at])
    head = random.choice(("if x{}:", "for i{} in y:", "with z{}:", "while x{}:", "def f{}():", "class C{}:"))
    heads = [f"{indent}{' ' * level}{head.format(level)}\n" for level in range(depth)]
    return "".join([*lines[:at], *heads, " " * depth + lines[at], *lines[at + 1 :]])


def many(random: Random, text: str, corpus: Corpus) -> str:
    """Write a line many times, or many branches around it."""
    lines = split(text)
    if not lines:
        return text
    at, count = row(random, lines), random.choice((5, 20, 60))
    if random.random() < 0.5:
        return "".join(lines[:at] + lines[at : at + 1] * count + lines[at + 1 :])
    indent = indent_of(lines[at])
    body = f"{indent}    {lines[at].strip()}\n"
    branches = "".join(f"{indent}{'elif' if number else 'if'} flag{number}:\n{body}" for number in range(count))
    return "".join([*lines[:at], branches, *lines[at + 1 :]])


ALL = (parentheses, parentheses, chain, chain, deep_block, many)
