"""Which lines of files have changed since a git revision."""

from __future__ import annotations

import os
from difflib import SequenceMatcher
from pathlib import Path

from amplint.diagnostics import Diagnostic
from amplint.engine.finding_matching import ALIKE, common_lines
from amplint.model.records import NamedTuple
from amplint.source import Source
from amplint.system.reading import read_file, shown_path
from amplint.system.revisions import RevisionError, contents, files_at, parting, top_of
from amplint.system.text_encoding import SourceError

_PYTHON = (".py", ".ipynb")


class _Repository(NamedTuple):
    """A repository, and its files at the revision: the identity of each, and the texts of those that are gone."""

    top: Path
    files: dict[str, str]
    gone: dict[str, str]


class ChangedLines:
    """Tells what has changed since a revision, or since the commit at which the current one has left its line.

    Args:
        revision: any name that git has for a commit or a tree.
    """

    def __init__(self, revision: str) -> None:
        self._revision = revision
        self._repositories: dict[Path, _Repository] = {}
        self._tops: dict[Path, Path] = {}
        self._rows: dict[str, frozenset[int]] = {}

    def require(self, folder: Path) -> None:
        """See to it that a folder lies in a repository which knows the revision.

        Raises:
            RevisionError: it does not.
        """
        self._repository(folder)

    def _repository(self, folder: Path) -> _Repository:
        folder = Path(os.path.realpath(folder))
        if folder not in self._tops:
            top = top_of(folder)
            if top is None:
                place = "the current folder" if (shown := shown_path(folder)) == os.curdir else shown
                raise RevisionError(f"`{self._revision}` cannot be looked up: {place} lies in no git repository")
            self._tops[folder] = top
        top = self._tops[folder]
        if top not in self._repositories:
            names = files_at(top, parting(top, self._revision))
            names = {name: identity for name, identity in names.items() if name.endswith(_PYTHON)}
            lost = {name: identity for name, identity in names.items() if not (top / name).exists()}
            gone = {name: text for name, data in contents(top, lost) if (text := _text(name, data)) is not None}
            self._repositories[top] = _Repository(top, names, gone)
        return self._repositories[top]

    def concerns(self, finding: Diagnostic, path: Path, source: Source) -> bool:
        """Whether one of the places that a finding names has changed, or stands beside a line that was taken out.

        Args:
            finding: the finding.
            path: the file that it is in.
            source: the text of the file, which may have been fixed since it was read.

        Raises:
            RevisionError: a file lies in no repository, or in one that does not know the revision.
        """
        changed = self._changed(path, source)
        start, end = finding.range
        if not changed.isdisjoint(range(start.row, end.row + 1)):
            return True
        for other in finding.related:
            rows = self._in_file(other.path) if other.path else changed
            if not rows.isdisjoint(range(other.range.start.row, other.range.end.row + 1)):
                return True
        return False

    def _in_file(self, display: str) -> frozenset[int]:
        """The rows that have changed of a file as it lies on the disk."""
        if display not in self._rows:
            try:
                source = Source.from_bytes(display, read_file(display))
            except (OSError, SourceError):
                return frozenset()
            self._rows[display] = self._changed(Path(os.path.abspath(display)), source)
        return self._rows[display]

    def _changed(self, path: Path, source: Source) -> frozenset[int]:
        before = self._before(path, source)
        return frozenset(range(1, len(source.line_starts) + 1)) if before is None else changed_rows(before, source)

    def _before(self, path: Path, source: Source) -> Source | None:
        """A file as it was, under whatever name; None where there was no such file."""
        repository = self._repository(path.parent)
        name = Path(os.path.relpath(os.path.realpath(path), repository.top)).as_posix()
        identity = repository.files.get(name)
        if identity is not None:
            data = dict(contents(repository.top, {name: identity})).get(name)
            return None if data is None else _source(name, data)
        shares = {old: common_lines(text, source.text) for old, text in repository.gone.items()}
        best = max(shares, key=lambda old: shares[old], default=None)
        return Source(best, repository.gone[best]) if best is not None and shares[best] >= ALIKE else None


def changed_rows(before: Source, after: Source) -> frozenset[int]:
    """The rows of a text that were not in it before, and those beside rows that are there no more.

    Args:
        before: the text as it was.
        after: the text.
    """
    old, new = _lines(before), _lines(after)
    same = next((row for row, (one, other) in enumerate(zip(old, new)) if one != other), min(len(old), len(new)))
    rest = min(len(old), len(new)) - same
    behind = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    matcher = SequenceMatcher(None, old[same : len(old) - behind], new[same : len(new) - behind], autojunk=False)
    changed: set[int] = set()
    for kind, _, _, start, end in matcher.get_opcodes():
        if kind == "delete":
            changed |= {same + start, same + start + 1}
        elif kind != "equal":
            changed |= set(range(same + start + 1, same + end + 1))
    return frozenset(changed)


def _lines(source: Source) -> list[str]:
    return [source.line(row).rstrip() for row in range(1, len(source.line_starts) + 1)]


def _source(name: str, data: bytes) -> Source | None:
    try:
        return Source.from_bytes(name, data)
    except SourceError:
        return None


def _text(name: str, data: bytes) -> str | None:
    source = _source(name, data)
    return None if source is None else source.text
