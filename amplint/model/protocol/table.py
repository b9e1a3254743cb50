"""Tables: immutable mappings that know their hash, so that states made of them are told apart at once."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, KeysView, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key")
Content = TypeVar("Content")


_FEW = 32
"""So many changes are copied from a table to the next one, or as many as the root of what the table holds."""


class Table(Generic[Key, Content]):
    """What is known of some things; nothing, where it is empty.

    A changed table is another one: it shares what was known before, but for a few changes that lie over that (None for what is
    known no more). Its hash is worked out from that of the first, and from what has changed.
    """

    __slots__ = ("_before", "_changes", "fingerprint")

    def __init__(self) -> None:
        self._before: dict[Key, Content] = {}
        self._changes: dict[Key, Content | None] = {}
        self.fingerprint = 0

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Table) and self.fingerprint == other.fingerprint and self._all() == other._all()

    def __hash__(self) -> int:
        return self.fingerprint

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[Key, Content]:
        """What is known, in one piece."""
        if not self._before:
            return self._changes  # type: ignore[return-value]  # None stands only for what was known before
        together = {**self._before, **self._changes}
        for key in [key for key, content in self._changes.items() if content is None]:
            del together[key]
        return together  # type: ignore[return-value]

    def get(self, key: Key) -> Content | None:
        """What is known of a thing."""
        changes = self._changes
        return changes[key] if key in changes else self._before.get(key)

    def items(self) -> ItemsView[Key, Content]:
        """The things, each with what is known of it."""
        return self._all().items()

    def keys(self) -> KeysView[Key]:
        """The things of which something is known."""
        return self._all().keys()

    def put(self, key: Key, content: Content | None) -> Table[Key, Content]:
        """The table with another content for a thing; None for nothing.

        Args:
            key: the thing.
            content: what is to be known of it; None for nothing.
        """
        old = self.get(key)
        return self if old is content or old == content else self.put_all({key: content})

    def put_all(self, changes: Mapping[Key, Content | None]) -> Table[Key, Content]:
        """The table with other contents for several things."""
        after: dict[Key, Content | None] | None = None
        fingerprint = self.fingerprint
        for key, content in changes.items():
            old = self.get(key)
            if old is content or old == content:
                continue
            if after is None:
                after = self._changes.copy()
            if old is not None:
                fingerprint ^= hash((key, old))
            if content is not None:
                fingerprint ^= hash((key, content))
            if content is None and key not in self._before:
                del after[key]
            else:
                after[key] = content
        if after is None:
            return self
        table: Table[Key, Content] = Table.__new__(Table)
        table._before, table._changes, table.fingerprint = self._before, after, fingerprint
        if len(after) > _FEW and len(after) ** 2 > len(self._before):
            table._before, table._changes = table._all(), {}
        return table

    def first(self, keys: Iterable[Key]) -> Content | None:
        """What is known of the first of several things of which anything is."""
        changes, before = self._changes, self._before
        for key in keys:
            content = changes[key] if key in changes else before.get(key)
            if content is not None:
                return content
        return None

    def knows_any(self, keys: frozenset[Key]) -> bool:
        """Whether anything is known of one of several things."""
        if self._before and not self._before.keys().isdisjoint(keys):
            return any(self.get(key) is not None for key in keys)
        return not self._changes.keys().isdisjoint(keys)

    def without(self, keys: Iterable[Key]) -> Table[Key, Content]:
        """The table without some things."""
        known = [key for key in keys if self.get(key) is not None]
        return self.put_all(dict.fromkeys(known)) if known else self

    def only(self, matters: Callable[[Key], bool]) -> Table[Key, Content]:
        """The table with nothing but the things that matter."""
        everything = self._all()
        kept: dict[Key, Content | None] = {key: content for key, content in everything.items() if matters(key)}
        if len(kept) == len(everything):
            return self
        table: Table[Key, Content] = Table.__new__(Table)
        table._before, table._changes, table.fingerprint = {}, kept, 0
        for entry in kept.items():
            table.fingerprint ^= hash(entry)
        return table

    def differing(self, other: Table[Key, Content]) -> list[tuple[Key, Content | None, Content | None]]:
        """The things of which two tables say different things, with what each says."""
        if self == other:
            return []
        if self._before is other._before:
            changed = dict.fromkeys((*self._changes, *other._changes))
            pairs = ((key, self.get(key), other.get(key)) for key in changed)
            return [each for each in pairs if each[1] is not each[2] and each[1] != each[2]]
        found: list[tuple[Key, Content | None, Content | None]] = []
        for key, mine in self.items():
            theirs = other.get(key)
            if theirs is not mine and theirs != mine:
                found.append((key, mine, theirs))
        found += [(key, None, theirs) for key, theirs in other.items() if self.get(key) is None]
        return found
