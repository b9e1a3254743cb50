"""What would have been found at the latest commits of a git history."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from amplint.cli.against import working_in
from amplint.cli.console import Console
from amplint.cli.linting import lint
from amplint.cli.options import STDIN, Options
from amplint.engine.config import ConfigError
from amplint.engine.severity import severity
from amplint.report.history_chart import Snapshot
from amplint.system.revisions import RevisionError, latest_commits, top_of, write_revision

_SHORT = 9
"""Characters of the name of a commit."""


class _Unheard(Console):
    """Keeps in mind that something could not be checked: nobody asks what, years later."""

    def problem(self, display: str, message: str) -> None:
        """Nothing is said."""
        self.failed = True

    def warning(self, display: str, message: str) -> None:
        """Nothing is said."""


def snapshots(options: Options, most: int, console: Console) -> Iterator[Snapshot]:
    """What is found at the latest commits, the oldest first; one that cannot be checked as a whole is left out, and told.

    Args:
        options: what to check, and for what.
        most: so many commits.
        console: hears how far it is, and which commits are left out.

    Raises:
        RevisionError: there is no history.
        click.UsageError: a path lies outside of the repository, or is none.
    """
    here = Path(os.path.realpath(Path.cwd()))
    top = top_of(here)
    if top is None:
        raise RevisionError("`--history`: the current folder lies in no git repository")
    commits = latest_commits(top, most)
    with tempfile.TemporaryDirectory(prefix="amplint-") as folder:
        base = Path(os.path.realpath(folder))
        for number, commit in enumerate(commits):
            tree = base / "tree"  # the same for all: what earlier commits came to is known
            tree.mkdir()
            write_revision(top, commit.name, tree)
            counts = _counts(options, top, here, tree, base / "cache")
            shutil.rmtree(tree)
            console.progress(number + 1, len(commits), "commits")
            if counts is None:
                console.warning("", f"commit {commit.name[:_SHORT]} is left out: not all of it can be checked")
            else:
                yield Snapshot(commit.name[:_SHORT], commit.day, commit.subject, counts)
    console.end_progress()


def _counts(options: Options, top: Path, here: Path, tree: Path, cache: Path) -> dict[str, int] | None:
    """The findings in a tree by severity; None where something cannot be checked."""
    inside = tree / here.relative_to(top)
    paths = [str(there) for path in options.paths or (".",) if (there := _inside(path, top, tree)).exists()]
    if not paths or not inside.is_dir():
        return {}
    config = options.config.from_anywhere
    unheard = _Unheard(quiet=True)
    with working_in(inside):
        try:
            asked = options._replace(paths=tuple(paths), config=config, cache_dir=cache, quiet=True)
            _, result = lint(asked, unheard)
        except ConfigError:
            return None
    return None if unheard.failed else dict(Counter(map(severity, result.diagnostics)))


def _inside(path: str, top: Path, tree: Path) -> Path:
    """Where a path of the command line lies in a tree of the repository."""
    full = Path(os.path.realpath(path))
    if path == STDIN or not full.is_relative_to(top):
        raise click.UsageError(f"`--history`: {path} does not lie in the git repository at {top}")
    return tree / full.relative_to(top)
