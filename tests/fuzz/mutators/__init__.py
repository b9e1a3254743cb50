"""Ways to change a program: each takes chance, a text and the corpus, and gives another text."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from random import Random

from ..corpus import Corpus
from . import blocks, comments, lines, names, nesting, syntax, words

Mutator = Callable[[Random, str, Corpus], str]

_MODULES = {
    "words": words.ALL,
    "lines": lines.ALL,
    "blocks": blocks.ALL,
    "nesting": nesting.ALL,
    "names": names.ALL,
    "comments": comments.ALL,
    "syntax": syntax.ALL,
}
MUTATORS: dict[str, tuple[tuple[str, Mutator], ...]] = {
    family: tuple((f"{family}.{mutator.__name__}", mutator) for mutator in found) for family, found in _MODULES.items()
}
"""By family; families are drawn with equal chances."""


def mutated(random: Random, text: str, corpus: Corpus) -> tuple[str, list[str]]:
    """A text after a few mutations, and their names. Most of those that break the syntax are taken back."""
    used: list[str] = []
    for _ in range(random.choice((1, 1, 2, 3, 5))):
        sound = parses(text)
        for _ in range(4):
            name, mutator = random.choice(MUTATORS[random.choice(list(MUTATORS))])
            changed = mutator(random, text, corpus)
            if changed != text and (not sound or parses(changed) or random.random() < 0.08):
                text = changed
                used.append(name)
                break
    return text, used


def parses(text: str) -> bool:
    """Whether Python's own parser takes a text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
