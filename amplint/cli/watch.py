"""`--watch`: check again whenever a file has changed that makes a difference."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from amplint.cli.console import FAILED, INTERRUPTED, Console, say
from amplint.cli.linting import resolver_of
from amplint.cli.options import STDIN, Options
from amplint.engine.config import ConfigError
from amplint.engine.discovery import DEFAULT_EXCLUDES
from amplint.engine.registry import RegistryError
from amplint.system.revisions import SETTINGS_FILES, bears_on_findings

if TYPE_CHECKING:
    from watchfiles import Change

_TOGETHER = 200
"""Milliseconds for which changes are gathered: an editor writes several files at once."""
_PATIENCE = 250
"""Milliseconds after which nothing has changed, for now."""
_NAMED = 3
"""Files that are named; of the others, only how many they are."""


def watched(options: Options, check: Callable[[], int]) -> int:
    """Check, and check again after each change below the paths or in their settings, until Ctrl-C.

    Args:
        options: what was asked for.
        check: does so once, reports, and gives the exit code.

    Returns:
        The exit code of the last check that was finished.

    Raises:
        click.UsageError: standard input cannot be watched.
    """
    console = Console(options.quiet, options.verbose, options.color)
    if options.reads_stdin:
        raise click.UsageError(f"`--watch` is for files, and `{STDIN}` is none")
    if find_spec("watchfiles") is None:
        console.problem("", "`--watch` needs watchfiles: pip install 'amplint[watch]'")
        return FAILED
    code = INTERRUPTED
    try:
        paths = [os.path.abspath(path) for path in options.paths or (".",)]
        for changed in _changes(paths, lambda: _settings_of(paths, options)):
            _clear()
            if changed:
                console.note(f"Changed: {_in_words(changed)}")
            code = check()
            console.note("Watching for changes; Ctrl-C ends")
    except KeyboardInterrupt:
        pass
    except (OSError, RuntimeError) as error:
        console.problem("", f"changes cannot be watched: {error}")
        return FAILED
    return code


def _changes(paths: list[str], settings: Callable[[], set[str]]) -> Iterator[list[str]]:
    """Nothing, to begin with; then the files that have changed, each time there are some.

    Args:
        paths: what is watched.
        settings: gives further files, wherever they lie, at which one look is taken every now and then.
    """
    from watchfiles import watch

    files = {path for path in paths if not os.path.isdir(path)}

    def matters(change: Change, path: str) -> bool:
        if path in files:
            return True
        # What is put into a new folder at once is not told by itself, nor what goes with one.
        gone = change.name == "deleted" and not os.path.splitext(path)[1]
        is_folder = gone or change.name == "added" and os.path.isdir(path)
        below = max((root for root in paths if path.startswith(os.path.join(root, ""))), key=len, default="")
        names = os.path.relpath(path, below or os.sep).split(os.sep)
        return bool(below) and (is_folder or bears_on_findings(path)) and DEFAULT_EXCLUDES.isdisjoint(names)

    # Of a file, its folder: an editor puts a new file in the place of the old one.
    roots = sorted({path if os.path.isdir(path) else os.path.dirname(path) for path in paths})
    seen: dict[str, object] | None = None
    for changes in watch(
        *roots,
        watch_filter=matters,
        debounce=_TOGETHER,
        step=_TOGETHER // 4,
        rust_timeout=_PATIENCE,
        yield_on_timeout=True,
    ):
        changed = {path for path, stamp in (seen or {}).items() if _stamp(path) != stamp}
        if changes or changed or seen is None:  # the first answer comes when watching has begun: no change is lost
            seen = {path: _stamp(path) for path in settings()}
            yield sorted(changed.union(path for _, path in changes))


def _settings_of(paths: list[str], options: Options) -> set[str]:
    """The files, there or not, that settings of the paths are read from and that do not lie below them, or that settings name."""
    reads_baseline = not options.update_baseline  # which writes it with each check
    files = {os.path.abspath(options.config.file)} if options.config.file else set()
    if options.baseline and reads_baseline:
        files.add(os.path.abspath(options.baseline))
    for path in map(Path, paths):
        if not options.isolated:
            files.update(str(folder / name) for folder in path.parents for name in SETTINGS_FILES)
        try:
            read = resolver_of(options).for_folder(path if path.is_dir() else path.parent)
        except (ConfigError, RegistryError):
            continue  # the check tells of it
        files.update(str(read.root / file) for _, file in read.wrappers)
        if read.baseline and reads_baseline:
            files.add(str(read.root / read.baseline))
    return files


def _stamp(path: str) -> object:
    """What tells whether a file has changed, come or gone."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _in_words(changed: list[str]) -> str:
    # What has gone and may have been a folder is often the draft that an editor has put in the place of a file.
    sure = [path for path in changed if os.path.splitext(path)[1] or os.path.isdir(path)]
    names = [os.path.relpath(path) for path in sure or changed]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _clear() -> None:
    """Let the report begin at the top of a terminal; what is read otherwise stays whole."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        say(sys.stdout, "\x1b[2J\x1b[3J\x1b[H")
