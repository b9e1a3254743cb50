"""What earlier runs found out, so that a file which did not change is neither read nor parsed again.

One file for each root and settings, which `amplint.engine.cache_storage` keeps. An entry holds the file's stamp (size,
times) and the hash of its content. An equal stamp is believed without reading the file, but only if it was taken well after
the last change: within the resolution of the clock a file can change and keep its stamp. Otherwise the content decides. The
same goes for the other files that an answer rests on.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amplint import __version__
from amplint.diagnostics import FileReport
from amplint.engine import registry, report_codec
from amplint.engine.cache_storage import Storage
from amplint.engine.cached_explorations import explorations_in
from amplint.engine.config import Settings
from amplint.engine.config_values import KEYS
from amplint.engine.stamps import Standing, Status, check_seen, digest, stamp_of

if TYPE_CHECKING:
    from amplint.model.caller_contexts import FromElsewhere

_KEEP = 8
"""How many files stay for one root: one for each settings, the latest ones."""
_EDITED = "~"
"""Ends the key of a text that an editor gave: what lies on the disk is known beside it."""
_ENTERED = "^"
"""Stands in the key of a file before the digests of the contexts that it was checked under: of their effects, and of all."""
_KEEP_ENTERED = 8
"""How many entries stay for one file that others enter: in each round of a run it may be entered in other ways."""


@lru_cache(maxsize=1)
def _engine() -> str:
    """What, besides a file and the settings, decides on the result: the code of amplint and of all rules, and LibCST."""
    try:
        libcst = version("libcst")
    except PackageNotFoundError:
        libcst = "?"
    parts = [__version__, libcst, sys.version]
    packs = [Path(folder) for name in registry.pack_names() for folder in import_module(name).__path__]
    for folder in [Path(__file__).parent.parent, *packs]:
        for path in sorted(folder.rglob("*.py")):
            parts += [path.relative_to(folder).as_posix(), digest(path.read_bytes())]
    return "\n".join(parts)


class Cache:
    """The reports on the files of one root under one choice of settings.

    Args:
        settings: those of the files.
        folder: where the user wants the cache, which is made when something is saved; None leaves it to
            `amplint.engine.cache_storage`.

    A cache that is damaged, or that this user's amplint did not write, is an empty one.

    Raises:
        OSError: nothing can be kept; the message is one line.
    """

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        setting = settings.root / settings.cache_dir if settings.cache_dir else None
        self._storage = Storage(settings.root, setting, folder)
        self._root = str(settings.root).rstrip(os.sep) + os.sep
        # What decides on which files are looked at, and what becomes of findings, does not decide on what is found.
        others = {each.field: getattr(Settings, each.field) for each in KEYS.values() if not each.finds}
        choice = repr((replace(settings, origin="", **others), _engine()))
        self._choice = digest(choice.encode())
        self._name = f"{self._choice}.cache"
        self._entries, self._others = self._load()
        self._standing = Standing(self._others)
        self._used: set[str] = set()
        self._changed = False

    def _load(self) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        try:
            entries, others = json.loads(self._storage.read(self._name))
            for entry in entries.values():
                stamp, content, found, footing = entry
                check_seen(stamp, content)
                report_codec.decode_footing(footing)
                if found is not None and type(found) is not list:
                    raise ValueError(found)
            for seen in others.values():
                check_seen(*seen)
        except (ValueError, TypeError, AttributeError, RecursionError, report_codec.Damaged):
            return {}, {}
        return entries, others

    def by_stamp(self, key: str, display: str, stat: Status) -> FileReport | None:
        """The report on a file that was not touched since.

        Args:
            key: the key of the file (`key`).
            display: the path as the user shall see it.
            stat: the stamp of the file as it is now.
        """
        entry = self._entries.get(key)
        if entry is None or entry[0] != [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns]:
            return None
        return self._report(key, display, entry)

    def by_content(self, key: str, display: str, stat: Status | None, content: str) -> FileReport | None:
        """The report on a file that holds the same bytes as then.

        Args:
            key: the key of the file (`key`).
            display: the path as the user shall see it.
            stat: the stamp of the file as it is now, which will do from now on; None for bytes from elsewhere.
            content: the `digest` of its bytes.
        """
        entry = self._entries.get(key)
        if entry is None or not content or entry[1] != content:
            return None
        report = self._report(key, display, entry)
        if report is not None and stat is not None:
            self._set(key, [stamp_of(stat), content, *entry[2:]])
        return report

    def _report(self, key: str, display: str, entry: list[Any]) -> FileReport | None:
        self._used.add(key)
        try:
            footing = report_codec.decode_footing(entry[3])
            if not self._standing.holds(footing):
                return None
            return FileReport(display) if entry[2] is None else report_codec.decode_report(display, entry[2], footing)
        except report_codec.Damaged:
            return None

    def keep(self, key: str, stat: Status | None, content: str, report: FileReport) -> None:
        """Remember a report; one with an error is not kept.

        Args:
            key: the key of the file (`key`).
            stat: the stamp of the file, taken before it was read; None for bytes from elsewhere.
            content: the `digest` of its bytes; empty where looking again costs no more than hashing.
            report: what checking it came to.
        """
        if report.error:
            return
        plain = not (report.diagnostics or report.facts or report.partly or report.gives or report.awaits)
        found = None if plain else report_codec.encode_report(report)
        self._set(key, [stamp_of(stat), content, found, report_codec.encode_footing(report.footing)])

    def entered_key(self, path: str, contexts: Sequence[FromElsewhere]) -> str:
        """What an entry for a file is found by that was checked as other files enter it; of one file the latest are kept.

        Args:
            path: the absolute path of the file.
            contexts: how other files enter it.
        """
        base = f"{self.key(path, explicit=False)}{_ENTERED}"
        key = self._alike(path, contexts) + digest(repr(contexts).encode())
        for old in [each for each in self._entries if each.startswith(base) and each != key][: 1 - _KEEP_ENTERED]:
            del self._entries[old]
        return key

    def alike_keys(self, path: str, contexts: Sequence[FromElsewhere]) -> list[str]:
        """The keys of a file that was entered in the same ways, wherever the calls stood: a row further down, perhaps.

        Args:
            path: the absolute path of the file.
            contexts: how other files enter it.
        """
        alike = self._alike(path, contexts)
        return [each for each in self._entries if each.startswith(alike)]

    def _alike(self, path: str, contexts: Sequence[FromElsewhere]) -> str:
        effects = repr([context.effect for context in contexts])
        return f"{self.key(path, explicit=False)}{_ENTERED}{digest(effects.encode())}"

    def _set(self, key: str, entry: list[Any]) -> None:
        self._used.add(key)
        if self._entries.get(key) != entry:
            self._entries[key] = entry
            self._changed = True

    def key(self, path: str, explicit: bool) -> str:
        """What an entry is found by.

        Args:
            path: the absolute path of the file.
            explicit: whether the user has named it, so that more is said about it.
        """
        return path.removeprefix(self._root) + ("*" if explicit else "")

    def edited_key(self, path: str) -> str:
        """What the entry for a file is found by as an editor last gave it."""
        return self.key(path, explicit=False) + _EDITED

    def explorations(self) -> AbstractContextManager[None]:
        """Have what runs inside follow no path again that was followed for an earlier text of an editor."""
        return explorations_in(self._storage, self._choice)

    def save(self) -> None:
        """Write what is new.

        Raises:
            OSError: the folder must not be used, or cannot be written.
        """
        if not (self._changed or self._standing.changed):
            return
        entries = {
            key: entry
            for key, entry in self._entries.items()
            if key in self._used or os.path.exists(os.path.join(self._root, _path_of(key)))
        }
        resting = {path for entry in entries.values() if entry[3] for path, _ in entry[3][0]}
        others = {path: other for path, other in self._standing.seen.items() if path in resting}
        data = json.dumps([entries, others], ensure_ascii=True, separators=(",", ":")).encode()
        self._storage.write(self._name, data, _KEEP)
        self._changed = self._standing.changed = False


def _path_of(key: str) -> str:
    """The path that a key is for, relative to the root."""
    return key.rpartition(_ENTERED)[0] or key.removesuffix("*").removesuffix(_EDITED)
