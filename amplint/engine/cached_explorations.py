"""What paths have shown in the texts that an editor gave before, each in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from amplint.engine.cache_storage import EXPLORED, Storage
from amplint.system.memory import Kept, Memory, in_use, remembering

_ROOM = 1_000_000
"""Characters that are kept for one choice of settings."""
_KEEP = 8
"""How many files stay for one root, as of reports."""


@contextmanager
def explorations_in(storage: Storage, choice: str) -> Iterator[None]:
    """Have what runs inside know what was kept, and keep what it finds; a process that has a memory of its own uses that.

    Args:
        storage: where it is kept.
        choice: stands for the settings, and for the code of amplint.
    """
    if in_use().keeps(Kept.EXPLORATIONS):
        yield
        return
    name = f"{choice}{EXPLORED}"
    memory = Memory({Kept.EXPLORATIONS: _ROOM})
    before = _read(storage, name)
    for digest, written in before.items():
        memory.keep(Kept.EXPLORATIONS, digest, written, len(written))
    with remembering(memory):
        yield
    after = {str(digest): str(written) for digest, written in memory.kept(Kept.EXPLORATIONS)}
    if after.keys() != before.keys():
        with suppress(OSError):  # what is kept of reports says why
            storage.write(name, json.dumps(after).encode(), _KEEP)


def _read(storage: Storage, name: str) -> dict[str, str]:
    try:
        known = json.loads(storage.read(name))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
