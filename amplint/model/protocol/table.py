"""Tables: immutable mappings that know their hash, so that states made of them are told apart at once."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, KeysView, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key")
Content = TypeVar("Content")


class Table(Generic[Key, Content]):
    """What is known of some things; nothing, where it is empty.

    A changed table is another one. Its hash is worked out from that of the first, and from what has changed.
    """

    __slots__ = ("_entries", "fingerprint")

    def __init__(self) -> None:
        self._entries: dict[Key, Content] = {}
        self.fingerprint = 0

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Table) and self.fingerprint == other.fingerprint and self._entries == other._entries

    def __hash__(self) -> int:
        return self.fingerprint

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Key) -> Content | None:
        """What is known of a thing."""
        return self._entries.get(key)

    def items(self) -> ItemsView[Key, Content]:
        """The things, each with what is known of it."""
        return self._entries.items()

    def keys(self) -> KeysView[Key]:
        """The things of which something is known."""
        return self._entries.keys()

    def put(self, key: Key, content: Content | None) -> Table[Key, Content]:
        """The table with another content for a thing; None for nothing.

        Args:
            key: the thing.
            content: what is to be known of it; None for nothing.
        """
        old = self._entries.get(key)
        return self if old is content or old == content else self.put_all({key: content})

    def put_all(self, changes: Mapping[Key, Content | None]) -> Table[Key, Content]:
        """The table with other contents for several things."""
        after: dict[Key, Content] | None = None
        fingerprint = self.fingerprint
        for key, content in changes.items():
            old = self._entries.get(key)
            if old is content or old == content:
                continue
            if after is None:
                after = self._entries.copy()
            if old is not None:
                fingerprint ^= hash((key, old))
            if content is None:
                del after[key]
            else:
                fingerprint ^= hash((key, content))
                after[key] = content
        if after is None:
            return self
        table: Table[Key, Content] = Table.__new__(Table)
        table._entries, table.fingerprint = after, fingerprint
        return table

    def first(self, keys: Iterable[Key]) -> Content | None:
        """What is known of the first of several things of which anything is."""
        entries = self._entries
        for key in keys:
            if key in entries:
                return entries[key]
        return None

    def knows_any(self, keys: frozenset[Key]) -> bool:
        """Whether anything is known of one of several things."""
        return not keys.isdisjoint(self._entries)

    def without(self, keys: Iterable[Key]) -> Table[Key, Content]:
        """The table without some things."""
        known = [key for key in keys if key in self._entries]
        return self.put_all(dict.fromkeys(known)) if known else self

    def differing(self, other: Table[Key, Content]) -> list[tuple[Key, Content | None, Content | None]]:
        """The things of which two tables say different things, with what each says."""
        if self == other:
            return []
        found: list[tuple[Key, Content | None, Content | None]] = []
        for key, mine in self._entries.items():
            theirs = other._entries.get(key)
            if theirs is not mine and theirs != mine:
                found.append((key, mine, theirs))
        found += [(key, None, theirs) for key, theirs in other._entries.items() if key not in self._entries]
        return found
