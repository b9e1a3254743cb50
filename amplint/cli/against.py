"""Two sides of a patch: what the paths of the command line hold, and what other files, or a git revision of them, do."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from amplint.cli.console import Console
from amplint.cli.linting import lint
from amplint.cli.options import STDIN, Options
from amplint.cli.targets import Targets
from amplint.diagnostics import FileReport
from amplint.engine.checker import with_location
from amplint.engine.discovery import FoundFile
from amplint.engine.finding_matching import renamed
from amplint.model.records import NamedTuple
from amplint.runtime.patch import PatchedFile
from amplint.source import Source
from amplint.system.reading import read_file
from amplint.system.revisions import RevisionError, top_of, write_revision
from amplint.system.text_encoding import SourceError


class AgainstError(Exception):
    """There is nothing to compare with; the message is one line."""


class _Before(NamedTuple):
    """Where the other side lies.

    `paths` are what to check there, seen from the folder `here`, which corresponds to the current one. `base` and `base_before`
    are the folders, or files, below which both sides have the same names. `shown` says what to call a file of the other side.
    """

    paths: tuple[str, ...]
    here: Path
    base: Path
    base_before: Path
    shown: Callable[[Path], str]


class _Side(NamedTuple):
    """The files of a side, by the names that they have on both, and the reports on them."""

    files: dict[str, FoundFile]
    reports: dict[str, FileReport]

    def source(self, name: str, shown: Callable[[Path], str] | None) -> Source | None:
        """A file, where it lies and how it is entered; None where it cannot be read."""
        item = self.files[name]
        display = item.display if shown is None else shown(item.path)
        try:
            source = Source.from_bytes(display, read_file(item.path))
        except (OSError, SourceError):
            return None
        return with_location(source, item.settings, item.path, self.reports[name].entered)


@contextmanager
def patched_files(options: Options, against: str, console: Console) -> Iterator[tuple[Targets, list[PatchedFile]]]:
    """Check both sides of a patch; gives the files that were checked, and what has become of them, until all is replayed.

    Args:
        options: what was asked for; its paths are those after the patch.
        against: files or a folder, or a git revision of the paths.
        console: hears of what could not be checked.

    Raises:
        AgainstError: there is no such path or revision.
        ConfigError: settings or selectors are of no use.
        RegistryError: a rule pack cannot be loaded.
    """
    if options.reads_stdin:
        raise click.UsageError(f"`--against` compares files, and `{STDIN}` is none")
    options = options._replace(paths=options.paths or (".",))
    with tempfile.TemporaryDirectory(prefix="amplint-") as folder:
        before = _before(options.paths, against, Path(os.path.realpath(folder)))
        wanted, result = lint(options, console)
        now = _Side(*_named(wanted, result.reports, before.base))
        there = options._replace(
            paths=before.paths,
            config=options.config.from_anywhere,
            no_cache=True,
        )
        with working_in(before.here):
            others, earlier = lint(there, console)
        then = _Side(*_named(others, earlier.reports, before.base_before))
        yield Targets([*wanted.files, *others.files]), list(_pairs(then, now, before.shown))


# -- where the other side lies -----------------------------------------------------------------------------------------


def _before(paths: tuple[str, ...], against: str, folder: Path) -> _Before:
    if os.path.exists(against):
        return _other_path(paths, Path(os.path.abspath(against)))
    return _revision(paths, against, folder)


def _other_path(paths: tuple[str, ...], old: Path) -> _Before:
    here, new = Path.cwd(), Path(os.path.abspath(paths[0]))
    if len(paths) > 1:
        raise click.UsageError("`--against PATH` is for one path; several are compared with a git revision")
    if not new.exists():
        raise AgainstError(f"{paths[0]} does not exist")
    if new.is_dir() != old.is_dir():
        raise click.UsageError("`--against` wants a folder for a folder, and a file for a file")
    count = len(new.relative_to(here).parts) if new.is_relative_to(here) else -1
    if count >= 0 and old.parts[len(old.parts) - count :] == new.parts[len(new.parts) - count :]:
        there = Path(*old.parts[: len(old.parts) - count])  # of the same name in a tree of its own
    else:
        there = here if old.is_relative_to(here) else old if old.is_dir() else old.parent
    return _Before((str(old),), there, new, old, lambda path: _short(path, here))


def _short(path: Path, here: Path) -> str:
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _revision(paths: tuple[str, ...], revision: str, folder: Path) -> _Before:
    here = Path.cwd()
    named = [Path(os.path.abspath(path)) for path in paths]
    near = next((each for each in (named[0], *named[0].parents) if each.is_dir()), here)
    try:
        top = top_of(near)
        if top is None:
            raise AgainstError(f"`{revision}` is no file or folder, and {paths[0]} lies in no git repository")
        anchor = here if top.is_relative_to(here) else top
        target = folder / top.relative_to(anchor)
        target.mkdir(parents=True, exist_ok=True)
        write_revision(top, revision, target)
    except RevisionError as error:
        raise AgainstError(str(error)) from error
    for path, each in zip(paths, named):
        if not each.is_relative_to(top):
            raise AgainstError(f"{path} lies outside of the git repository at {top}")
        if each.exists() and not (folder / each.relative_to(anchor)).exists():
            raise AgainstError(f"{path} is not in `{revision}`")
    there = tuple(str(folder / each.relative_to(anchor)) for each in named)
    inside = folder / here.relative_to(anchor) if here.is_relative_to(anchor) else folder
    inside.mkdir(parents=True, exist_ok=True)
    return _Before(
        there, inside, anchor, folder, lambda path: f"{revision}:{_short(anchor / path.relative_to(folder), here)}"
    )


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Stand in a folder for a while: from there settings are looked for, and imports followed."""
    here = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)


# -- what has become of what -------------------------------------------------------------------------------------------


def _named(
    targets: Targets, reports: list[FileReport], base: Path
) -> tuple[dict[str, FoundFile], dict[str, FileReport]]:
    names = [os.path.relpath(item.path, base) for item in targets.files]
    return dict(zip(names, targets.files)), dict(zip(names, reports))


def _pairs(then: _Side, now: _Side, shown: Callable[[Path], str]) -> Iterator[PatchedFile]:
    """The files that hold a finding on one of the sides, each with what it was, or has become."""
    moved = _moved(then, now, shown)
    for name in sorted({*then.files, *now.files} - set(moved.values())):
        after = moved.get(name, name)
        found = then.reports[name].diagnostics if name in then.files else ()
        remaining = now.reports[after].diagnostics if after in now.files else ()
        if found or remaining:
            old = then.source(name, shown) if name in then.files else None
            new = now.source(after, None) if after in now.files else None
            renamed_to = () if old is None else tuple(replace(one, path=old.path) for one in found)
            yield PatchedFile(name, old, new, renamed_to, remaining)


def _moved(then: _Side, now: _Side, shown: Callable[[Path], str]) -> Mapping[str, str]:
    """Files that hold a finding and are no longer there, each with the new one that it has become."""
    gone = {name for name, report in then.reports.items() if name not in now.files and report.diagnostics}
    if not gone:
        return {}
    come = set(now.files) - set(then.files)
    old = {name: source.text for name in gone if (source := then.source(name, shown)) is not None}
    new = {name: source.text for name in come if (source := now.source(name, None)) is not None}
    return renamed(old, new)
