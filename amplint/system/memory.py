"""What a process that checks the same files again and again keeps from one check to the next.

An answer is kept under a key that stands for everything that it depends on, so that none is ever out of date: when something
has changed, the key has. Whoever keeps something decides on that key, in the one place where the answer is worked out.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any


class Kept(Enum):
    """What is kept: each kind has its own room."""

    TREES = "trees"
    """The trees of Python's parser, by text; in characters of it."""
    EXPLORATIONS = "explorations"
    """What following paths has shown, by event graphs; in characters as it is written out."""
    CONTENTS = "contents"
    """The contents of files and what their bytes tell, by path and stamp; in bytes."""


class Memory:
    """The answers that were asked for last.

    Args:
        room: how much is kept of each kind, as that is measured; of the others nothing is.
    """

    def __init__(self, room: Mapping[Kept, int]) -> None:
        self._room = dict(room)
        self._answers: dict[Kept, dict[Hashable, tuple[Any, int]]] = {kind: {} for kind in room}
        self._taken = dict.fromkeys(room, 0)

    def keeps(self, kind: Kept) -> bool:
        """Whether anything of a kind is kept, so that it pays to work out keys."""
        return kind in self._room

    def keep(self, kind: Kept, key: Hashable, answer: object, weight: int) -> None:
        """Keep an answer as the one that was asked for last, and let go of the oldest for which there is no room.

        Args:
            kind: what it is.
            key: what it depends on.
            answer: the answer; nobody changes it.
            weight: what it takes of the room.
        """
        if kind not in self._room:
            return
        known = self._answers[kind]
        _, before = known.pop(key, (None, 0))
        known[key] = answer, weight
        self._taken[kind] += weight - before
        while self._taken[kind] > self._room[kind]:
            self._taken[kind] -= known.pop(next(iter(known)))[1]

    def known(self, kind: Kept, key: Hashable) -> Any:
        """The answer under a key; None where there is none.

        Args:
            kind: what it is.
            key: what it depends on.
        """
        found = self._answers[kind].get(key) if kind in self._room else None
        if found is None:
            return None
        self._answers[kind][key] = self._answers[kind].pop(key)  # asked for last
        return found[0]

    def kept(self, kind: Kept) -> Iterator[tuple[Hashable, Any]]:
        """What is kept of a kind, each with its key; what was asked for last comes last."""
        yield from ((key, answer) for key, (answer, _) in self._answers.get(kind, {}).items())


_NOTHING = Memory({})
_in_use = _NOTHING


@contextmanager
def remembering(memory: Memory) -> Iterator[None]:
    """Have what runs inside use a memory.

    Args:
        memory: what is known, and is added to.
    """
    global _in_use
    before, _in_use = _in_use, memory
    try:
        yield
    finally:
        _in_use = before


def in_use() -> Memory:
    """The memory that is in use; one that keeps nothing where nobody wants one."""
    return _in_use
