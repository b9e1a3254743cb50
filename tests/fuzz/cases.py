"""The inputs of the campaign: each follows from a seed, a number and the corpus."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .corpus import Corpus
from .layout import LAYOUTS, plain
from .mutators import mutated
from .notebooks import notebook


@dataclass(frozen=True)
class Case:
    """One input: what the file is called, its bytes, and the mutators that made it."""

    name: str
    data: bytes
    mutators: tuple[str, ...] = ()

    @property
    def is_notebook(self) -> bool:
        """Whether it is called a notebook."""
        return self.name.endswith(".ipynb")


def make(corpus: Corpus, seed: int, number: int) -> Case:
    """The input of a number."""
    random = Random(f"{seed}/{number}")
    if random.random() < 0.15:
        data, used = notebook(random, corpus)
        return Case(f"case{number}.ipynb", data, tuple(used))
    text, used = mutated(random, corpus.text(random), corpus)
    return dressed(random, f"case{number}.py", text, used)


def dressed(random: Random, name: str, text: str, used: list[str]) -> Case:
    """A program as the bytes of a file, in a third of the cases in an odd layout."""
    layout = random.choice(LAYOUTS) if random.random() < 0.35 else plain
    return Case(name, layout(random, text), (*used, f"layout.{layout.__name__}"))
