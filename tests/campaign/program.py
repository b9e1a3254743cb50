"""A training program, and the ways to set its flags."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

Setting = tuple[tuple[str, bool], ...]
"""The values of a program's flags."""


@dataclass(frozen=True)
class Program:
    """A training program: it defines `train(batches, <flags>)`."""

    text: str
    flags: tuple[str, ...] = ()

    def settings(self) -> Iterator[Setting]:
        """Every way to set the flags."""
        for values in itertools.product((False, True), repeat=len(self.flags)):
            yield tuple(zip(self.flags, values))
