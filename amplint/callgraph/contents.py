"""What files hold, and what their bytes tell by themselves: each is looked for once, in an editor for as long as a file stays."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from amplint.system.memory import Kept, in_use
from amplint.system.reading import is_settled, read_file, stamp

_IMPORT = re.compile(rb"import\b[ \t]*(\([^)]*\)|[^\n#;]*)")
_NAME = re.compile(rb"\w+")


class Content:
    """The bytes of one file, and what they tell.

    Args:
        data: the bytes.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._holds: dict[bytes, bool] = {}
        self._matches: dict[re.Pattern[bytes], bool] = {}

    def holds(self, word: bytes) -> bool:
        """Whether some bytes stand anywhere in it."""
        if word not in self._holds:
            self._holds[word] = word in self.data
        return self._holds[word]

    def matches(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether a pattern is found anywhere in it."""
        if pattern not in self._matches:
            self._matches[pattern] = pattern.search(self.data) is not None
        return self._matches[pattern]

    @cached_property
    def imports(self) -> list[tuple[str, list[str]]]:
        """The modules that it imports, each with the names that it takes from it."""
        return list(import_statements(self.data))


def content_of(path: Path) -> Content:
    """The content of a file; nothing where it cannot be read. While its stamp is the same, it is not read again."""
    memory = in_use()
    if not memory.keeps(Kept.CONTENTS):
        return Content(_read(path))
    try:
        status = stamp(path)
    except OSError:
        return Content(b"")
    key = os.fspath(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns
    known: Content | None = memory.known(Kept.CONTENTS, key)
    if known is None:
        known = Content(_read(path))
        if is_settled(status):
            memory.keep(Kept.CONTENTS, key, known, len(known.data))
    return known


def _read(path: Path) -> bytes:
    try:
        return read_file(path)
    except OSError:
        return b""


def import_statements(data: bytes) -> Iterator[tuple[str, list[str]]]:
    """The modules that a text imports, each with the names that it takes from it."""
    for found in _IMPORT.finditer(data):
        before = data[data.rfind(b"\n", 0, found.start()) + 1 : found.start()].split()
        if not before:
            modules = [part.split()[0] for part in found[1].split(b",") if part.split()]
            yield from ((module.decode("ascii", "replace"), []) for module in modules)
        elif len(before) == 2 and before[0] == b"from":
            names = _NAME.findall(found[1])
            yield before[1].decode("ascii", "replace"), [name.decode("ascii", "replace") for name in names]
