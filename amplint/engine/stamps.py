"""Whether files are as they were: by their stamps, and where these do not tell, by the digests of their bytes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from amplint.diagnostics import Footing
from amplint.system import reading

Status = os.stat_result | reading.Stamp
Stamp = Sequence[int]
_UNTRUSTED: Stamp = (0, 0, 0)


def digest(data: bytes) -> str:
    """The hash that stands for the content of a file."""
    return blake2b(data, digest_size=16).hexdigest()


class Standing:
    """Whether what answers rest on is still as it was. `seen` holds stamp and digest of files, by path."""

    def __init__(self, seen: dict[str, list[Any]]) -> None:
        self.seen = seen
        self.changed = False
        self._digests: dict[str, str] = {}
        self._listings: dict[str, frozenset[str]] = {}

    def holds(self, footing: Footing) -> bool:
        """Whether every file holds the same bytes, and nothing has come where nothing was."""
        return all(self._digest(path) == wanted for path, wanted in footing.files) and all(
            self._names(folder).isdisjoint(names) for folder, names in footing.absent
        )

    def _digest(self, path: str) -> str:
        if path not in self._digests:
            self._digests[path] = self._look(path)
        return self._digests[path]

    def _look(self, path: str) -> str:
        try:
            status = reading.stamp(path)
            seen_as, content = self.seen.get(path, (_UNTRUSTED, ""))
            if seen_as == [status.st_size, status.st_mtime_ns, status.st_ctime_ns]:
                return str(content)
            content = digest(reading.read_file(path))
        except OSError:
            return ""
        seen = [stamp_of(status), content]
        self.changed = self.changed or self.seen.get(path) != seen
        self.seen[path] = seen
        return content

    def _names(self, folder: str) -> frozenset[str]:
        if folder not in self._listings:
            try:
                self._listings[folder] = frozenset(os.listdir(folder))
            except OSError:
                self._listings[folder] = frozenset()
        return self._listings[folder]


def check_seen(stamp: Any, content: Any) -> None:
    """Raise ValueError for what is no stamp and digest of a file.

    Args:
        stamp: what was read in the place of a stamp.
        content: what was read in the place of a digest.

    Raises:
        ValueError: one of them is something else.
    """
    if type(stamp) is not list or len(stamp) != 3 or type(content) is not str:
        raise ValueError(stamp, content)


def stamp_of(stat: Status | None) -> list[int]:
    """The stamp by which a file is recognised: size and times; one that fits no file where it is too young, or not known."""
    if stat is None or not reading.is_settled(stat):
        return list(_UNTRUSTED)
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]
