"""Changes of single words."""

from __future__ import annotations

from random import Random

from ..corpus import Corpus, Token, tokens


def _one(random: Random, text: str) -> Token | None:
    found = tokens(text)
    return random.choice(found) if found else None


def delete(random: Random, text: str, corpus: Corpus) -> str:
    """Leave out a word."""
    token = _one(random, text)
    return text[: token.start] + text[token.end :] if token else text


def duplicate(random: Random, text: str, corpus: Corpus) -> str:
    """Write a word twice."""
    token = _one(random, text)
    return f"{text[: token.end]} {token.text}{text[token.end :]}" if token else text


def swap(random: Random, text: str, corpus: Corpus) -> str:
    """Let two words of a kind change places."""
    one = _one(random, text)
    if one is None:
        return text
    other = random.choice([token for token in tokens(text) if token.kind == one.kind])
    first, second = sorted((one, other), key=lambda token: token.start)
    if first == second:
        return text
    between = text[first.end : second.start]
    return f"{text[: first.start]}{second.text}{between}{first.text}{text[second.end :]}"


def replace(random: Random, text: str, corpus: Corpus) -> str:
    """Write another word of the same kind."""
    token = _one(random, text)
    return text[: token.start] + corpus.word(random, token.kind) + text[token.end :] if token else text


def insert(random: Random, text: str, corpus: Corpus) -> str:
    """Write one word more."""
    token = _one(random, text)
    if token is None:
        return text
    kind = random.choice(("name", "op", "keyword", "number", "string"))
    return f"{text[: token.end]} {corpus.word(random, kind)} {text[token.end :]}"


ALL = (delete, duplicate, swap, replace, replace, insert)
