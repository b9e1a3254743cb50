"""What a run of `amplint check` looks at."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from amplint.cli.console import Console
from amplint.cli.options import STDIN, Options
from amplint.engine.config import ConfigError, Settings, SettingsResolver
from amplint.engine.discovery import Excluded, FoundFile, Passed, Problem, discover
from amplint.engine.registry import rule_index
from amplint.engine.selection import active_codes
from amplint.model.records import NamedTuple
from amplint.system.reading import read_file, read_stream


class Targets(NamedTuple):
    """The files to check; `stdin` is the content of the only one when that was read from there."""

    files: list[FoundFile]
    stdin: bytes | None = None

    def read(self, path: Path) -> bytes:
        """The content of a file.

        Raises:
            OSError: it cannot be read.
        """
        return read_file(path) if self.stdin is None else self.stdin


def find_targets(options: Options, resolver: SettingsResolver, console: Console) -> Targets:
    """What the paths of the command line stand for; tells the console about those that stand for nothing.

    Args:
        options: what was asked for; no path means the current folder.
        resolver: knows the settings of each file.
        console: hears of paths that stand for nothing.

    Raises:
        ConfigError: the settings for stdin are of no use.
        click.UsageError: stdin and other paths are wanted at once.
    """
    paths = options.paths or (".",)
    if options.reads_stdin:
        if len(paths) > 1:
            raise click.UsageError(f"`{STDIN}` cannot be combined with other paths")
        return _stdin(options.stdin_filename, resolver, console)
    if options.stdin_filename is not None:
        raise click.UsageError(f"`--stdin-filename` names what is read from `{STDIN}`, and no other path")
    sound: dict[Settings, bool] = {}
    files: list[FoundFile] = []
    excluded: list[str] = []
    for item in discover(paths, resolver):
        if isinstance(item, Problem):
            console.problem(item.display, item.message)
        elif isinstance(item, Passed):
            console.warning(item.display, item.message)
        elif isinstance(item, Excluded):
            excluded.append(item.display)
        elif _is_sound(item, sound, console):
            files.append(item)
    if excluded:
        _tell_excluded(excluded, console)
    elif not files and not console.failed:
        console.warning("", "no Python files found under the given paths")
    return Targets(files)


def _stdin(name: str | None, resolver: SettingsResolver, console: Console) -> Targets:
    path = os.path.abspath(name or "stdin.py")
    settings = resolver.for_file(Path(path))
    try:
        data = read_stream(sys.stdin.buffer)
    except OSError as error:
        console.problem(name or STDIN, f"cannot be read: {error.strerror or 'it is closed'}")
        return Targets([])
    if settings.excludes(path):
        _tell_excluded([name or STDIN], console)
        return Targets([], data)
    return Targets([FoundFile(Path(path), name or STDIN, settings, explicit=True)], data)


def _tell_excluded(paths: list[str], console: Console) -> None:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    console.note(f"Excluded by the settings: {', '.join(paths[:3])}{more}")


def _is_sound(item: FoundFile, sound: dict[Settings, bool], console: Console) -> bool:
    """Whether the settings of a file can be used: its selectors are known, its patterns are some."""
    if item.settings not in sound:
        try:
            active_codes(item.settings, item.path, rule_index())
            sound[item.settings] = True
        except ConfigError as error:
            console.problem("", str(error))
            sound[item.settings] = False
    return sound[item.settings]
