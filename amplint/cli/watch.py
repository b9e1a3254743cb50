"""`--watch`: check again whenever a file has changed that makes a difference."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from amplint.cli.console import FAILED, INTERRUPTED, Console, say
from amplint.cli.options import STDIN, Options
from amplint.engine.discovery import DEFAULT_EXCLUDES
from amplint.system.revisions import bears_on_findings

if TYPE_CHECKING:
    from watchfiles import Change

_TOGETHER = 200
"""Milliseconds for which changes are gathered: an editor writes several files at once."""
_PATIENCE = 250
"""Milliseconds after which nothing has changed, for now."""
_NAMED = 3
"""Files that are named; of the others, only how many they are."""


def watched(options: Options, check: Callable[[], int]) -> int:
    """Check, and check again after each change below the paths, until Ctrl-C; what has not changed is in the cache.

    Args:
        options: what was asked for.
        check: does so once, reports, and gives the exit code.

    Returns:
        The exit code of the last check that was finished.

    Raises:
        click.UsageError: standard input cannot be watched.
    """
    console = Console(options.quiet, options.verbose, options.color)
    if STDIN in options.paths:
        raise click.UsageError(f"`--watch` is for files, and `{STDIN}` is none")
    if find_spec("watchfiles") is None:
        console.problem("", "`--watch` needs watchfiles: pip install 'amplint[watch]'")
        return FAILED
    code = INTERRUPTED
    try:
        for changed in _changes([os.path.abspath(path) for path in options.paths or (".",)]):
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


def _changes(paths: list[str]) -> Iterator[list[str]]:
    """Nothing, to begin with; then the files that have changed, each time there are some."""
    from watchfiles import watch

    files = {path for path in paths if not os.path.isdir(path)}

    def matters(change: Change, path: str) -> bool:
        if path in files:
            return True
        below = max((root for root in paths if path.startswith(os.path.join(root, ""))), key=len, default="")
        folders = os.path.relpath(path, below or os.sep).split(os.sep)[:-1]
        return bool(below) and bears_on_findings(path) and DEFAULT_EXCLUDES.isdisjoint(folders)

    # Of a file, its folder: an editor puts a new file in the place of the old one.
    roots = sorted({path if os.path.isdir(path) else os.path.dirname(path) for path in paths})
    begun = False
    for changes in watch(
        *roots,
        watch_filter=matters,
        debounce=_TOGETHER,
        step=_TOGETHER // 4,
        rust_timeout=_PATIENCE,
        yield_on_timeout=True,
    ):
        if changes or not begun:  # the first answer comes when watching has begun: no change is lost from then on
            begun = True
            yield sorted({path for _, path in changes})


def _in_words(changed: list[str]) -> str:
    names = [os.path.relpath(path) for path in changed]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def _clear() -> None:
    """Let the report begin at the top of a terminal; what is read otherwise stays whole."""
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        say(sys.stdout, "\x1b[2J\x1b[3J\x1b[H")
