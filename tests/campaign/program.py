"""A training program, and the ways to set its flags."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

Setting = tuple[tuple[str, bool], ...]
"""The values of a program's flags."""
_ALL = 5
"""So many flags are set in every way."""
_SOME = 48
"""So many settings are drawn for more: they hold nearly every combination of three flags."""


@dataclass(frozen=True)
class Program:
    """A training program: it defines `train(batches, <flags>)`."""

    text: str
    flags: tuple[str, ...] = ()

    def settings(self) -> Iterator[Setting]:
        """Every way to set a few flags, and many ways to set more; the same ones each time."""
        ways = list(itertools.product((False, True), repeat=min(len(self.flags), _ALL)))
        if len(self.flags) > _ALL:
            draw = random.Random(len(self.flags))
            ways = [tuple(draw.random() < 0.5 for _ in self.flags) for _ in range(_SOME)]
        for values in dict.fromkeys(ways):
            yield tuple(zip(self.flags, values))
