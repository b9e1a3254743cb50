"""Checks what an editor holds, in the light of the project around it, which is kept in memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from amplint.callgraph.contents import import_statements
from amplint.diagnostics import Diagnostic, FileReport
from amplint.engine.baseline import LIMIT, BaselineError, known_by, read_baseline, sort_out
from amplint.engine.checker import check_again, with_location
from amplint.engine.config import ConfigError, SettingsResolver
from amplint.engine.discovery import DEFAULT_EXCLUDES, FoundFile
from amplint.engine.fixer import FixOutcome, fix_source, fixed_by
from amplint.engine.linter import crash
from amplint.engine.neighbours import neighbours, project_files
from amplint.engine.registry import RegistryError
from amplint.engine.relevance import is_concerned
from amplint.engine.runner import RunOptions, check_text
from amplint.server.documents import OpenDocument
from amplint.source import Source
from amplint.system import limits, reading
from amplint.system.memory import Kept, Memory, remembering
from amplint.system.text_encoding import SourceError

ResolverMaker = Callable[[], SettingsResolver]

_HOW = RunOptions(jobs=1)
"""Everything in this process: it has threads, and must not be copied."""
_ROOM = {Kept.TREES: 4_000_000, Kept.EXPLORATIONS: 4_000_000, Kept.CONTENTS: 32_000_000}
"""What stays between two checks: the trees of a few hundred files, in some dozens of megabytes, what their paths show, and the
bytes of a project of some thousand files."""


@dataclass(frozen=True)
class Checked:
    """A document as it was checked: its source, None where that is no Python; the report on it; and the files that it rests on.

    `fault` is the one-line reason why nothing was checked: settings, or rules, that are of no use.
    """

    snapshot: OpenDocument
    report: FileReport
    source: Source | None = None
    item: FoundFile | None = None
    rests_on: frozenset[str] = frozenset()
    fault: str = ""

    def fixed(self, finding: Diagnostic) -> str | None:
        """The text after the fix of one finding; None where it would do harm."""
        return None if self.source is None else fixed_by(self.source, finding)

    def fixed_safely(self) -> FixOutcome:
        """What all safe fixes make of the text."""
        if self.source is None or self.item is None:
            return FixOutcome("")
        item, report = self.item, self.report
        known = frozenset[str]().union(*(each.needs for each in report.diagnostics))

        def lint(source: Source) -> FileReport:
            return _unknown(check_again(source, item.settings, item.path, report.entered, known), source, item)

        return fix_source(self.source, lint, unsafe=False)


class _Family(NamedTuple):
    """The other files that decide on what is found in a file, as long as it imports the same, and asks how it is called."""

    reason: tuple[object, ...]
    files: Sequence[FoundFile]


@dataclass
class ProjectChecks:
    """Checks documents, and remembers of their projects what does not change while somebody types.

    Args:
        resolver: gives who knows the settings of the files below the current folder.
    """

    resolver: ResolverMaker
    _resolvers: dict[Path, SettingsResolver] = field(default_factory=dict)
    _families: dict[Path, _Family] = field(default_factory=dict)
    _memory: Memory = field(default_factory=lambda: Memory(_ROOM))

    def forget(self) -> None:
        """Settings have changed, or files have come or gone."""
        self._resolvers.clear()
        self._families.clear()

    def check(
        self,
        snapshot: OpenDocument,
        roots: Sequence[Path],
        held: Sequence[OpenDocument],
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> Checked | None:
        """The report on a document; never raises for what stands in it, nor for a bug of amplint.

        Args:
            snapshot: the document.
            roots: the folders of the workspace, the innermost first.
            held: the texts that are open, which count in the place of the files.
            is_wanted: whether somebody still waits for the report.

        Returns:
            The report; None where nobody waited for it to the end.
        """
        path = snapshot.path
        reading.hold({os.fspath(each.path): each.data for each in held})
        try:
            root = next(each for each in (*roots, *path.parents) if each in path.parents and each.is_dir())
            resolver = self._resolver(root)
            item = FoundFile(path, os.fspath(path), resolver.for_file(path))
            if _is_left_out(item, root):
                return Checked(snapshot, FileReport(item.display))
            with limits.while_wanted(is_wanted), remembering(self._memory):
                return self._check(snapshot, item, resolver)
        except limits.Withdrawn:
            return None
        except (ConfigError, RegistryError) as error:
            return Checked(snapshot, FileReport(os.fspath(path)), fault=str(error))
        except Exception as error:  # a bug of amplint: it costs this answer, not the server
            why = crash("internal error", error, os.fspath(path))
            return Checked(snapshot, FileReport(os.fspath(path), error=why))

    def _check(self, snapshot: OpenDocument, item: FoundFile, resolver: SettingsResolver) -> Checked:
        family = self._family(snapshot, item, resolver)
        report = check_text(
            item, snapshot.data, _HOW, None, family, lambda: project_files([item], [item.display], resolver)
        )
        rests_on = frozenset((*(os.fspath(each.path) for each in family), *(path for path, _ in report.footing.files)))
        try:
            source = Source.from_bytes(item.display, snapshot.data)
        except SourceError:
            return Checked(snapshot, report, rests_on=rests_on)
        located = with_location(source, item.settings, item.path, report.entered)
        return Checked(snapshot, _unknown(report, source, item), located, item, rests_on)

    def _family(self, snapshot: OpenDocument, item: FoundFile, resolver: SettingsResolver) -> Sequence[FoundFile]:
        asks = is_concerned(snapshot.data, item.settings, item.path)
        reason = (asks, *import_statements(snapshot.data))
        known = self._families.get(item.path)
        if known is None or known.reason != reason:
            files = neighbours([item], [item.display], resolver, snapshot.data)
            known = self._families[item.path] = _Family(reason, files)
        return known.files

    def _resolver(self, root: Path) -> SettingsResolver:
        if root not in self._resolvers:
            os.chdir(root)  # where the file lies that no settings file speaks of, and what messages are relative to
            self._resolvers[root] = self.resolver()
        return self._resolvers[root]


def _unknown(report: FileReport, source: Source, item: FoundFile) -> FileReport:
    """The report without the findings that the baseline of the settings knows.

    Raises:
        ConfigError: the baseline is none, or is missing.
    """
    if not item.settings.baseline or not report.diagnostics:
        return report
    path = item.settings.root / item.settings.baseline
    try:
        known = read_baseline(reading.read_file(path, LIMIT))
    except (OSError, BaselineError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConfigError(f"{item.settings.place('baseline')}: {item.settings.baseline}: {why}") from error
    name = Path(os.path.relpath(item.path, path.parent)).as_posix()
    found = [(finding, known_by(finding, source)) for finding in report.diagnostics]
    return replace(report, diagnostics=tuple(sort_out(found, known.get(name, Counter()), Counter()).unknown))


def _is_left_out(item: FoundFile, root: Path) -> bool:
    """Whether a run on the whole folder would pass the file over: installed packages, what the settings exclude."""
    folders = item.path.parent.relative_to(root).parts if root in item.path.parents else ()
    return not DEFAULT_EXCLUDES.isdisjoint(folders) or item.settings.excludes(item.display)
