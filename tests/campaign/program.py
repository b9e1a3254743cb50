"""A training program of one file or several, and the ways to set its flags."""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

Setting = tuple[tuple[str, bool], ...]
"""The values of a program's flags."""
_ALL = 5
"""So many flags are set in every way."""
_SOME = 48
"""So many settings are drawn for more: they hold nearly every combination of three flags."""


@dataclass(frozen=True)
class Part:
    """A file of a program: its module's name, how many rows of the program's text stand above it, and its own text."""

    name: str
    above: int
    text: str


@dataclass(frozen=True)
class Program:
    """A training program: it defines `train(batches, <flags>)`.

    A row `# file: losses.py` in the text begins a file. Files stand behind those that they import, so that `train` is in
    the last. Rows are always those of the whole text.
    """

    text: str
    flags: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """The files."""
        before, *pieces = re.split(r"^# file: (\w+)\.py\n", self.text, flags=re.MULTILINE)
        if not pieces:
            return (Part("program", 0, before),)
        made: list[Part] = []
        above = before.count("\n")
        for name, text in zip(pieces[::2], pieces[1::2]):
            made.append(Part(name, above + 1, text))
            above += 1 + text.count("\n")
        return tuple(made)

    @contextmanager
    def loaded(self, file: str) -> Iterator[Callable[..., object]]:
        """Execute the files as modules that can import each other; gives `train`.

        Args:
            file: the name under which the code of all files is known to whoever watches it run.
        """
        before = dict(sys.modules)
        module = ModuleType("program")
        try:
            for part in self.parts:
                module = sys.modules[part.name] = ModuleType(part.name)
                exec(compile("\n" * part.above + part.text, file, "exec"), module.__dict__)
            yield module.__dict__["train"]
        finally:
            for part in self.parts:
                sys.modules.pop(part.name, None)
                if part.name in before:
                    sys.modules[part.name] = before[part.name]

    def settings(self) -> Iterator[Setting]:
        """Every way to set a few flags, and many ways to set more; the same ones each time."""
        ways = list(itertools.product((False, True), repeat=min(len(self.flags), _ALL)))
        if len(self.flags) > _ALL:
            draw = random.Random(len(self.flags))
            ways = [tuple(draw.random() < 0.5 for _ in self.flags) for _ in range(_SOME)]
        for values in dict.fromkeys(ways):
            yield tuple(zip(self.flags, values))
