"""`amplint report`: one page for a team."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from amplint.cli.console import CLEAN, FAILED, Console
from amplint.cli.help import SectionedCommand
from amplint.cli.history import snapshots
from amplint.cli.linting import lint
from amplint.cli.option_groups import RUN, SELECTION, with_options
from amplint.cli.options import Options
from amplint.cli.reporting import refuse_to_overwrite, write_file
from amplint.engine.config import ConfigError
from amplint.engine.registry import RegistryError
from amplint.report import team_page
from amplint.report.view import View, count
from amplint.system.revisions import RevisionError

_HTML = click.option("--html", metavar="FILE", required=True, help="The page.")
_HISTORY = click.option(
    "--history",
    metavar="N",
    type=click.IntRange(2),
    help="Check the latest N commits, too, and draw what has become of it.",
)


@click.command("report", short_help="Write one page for a team.", cls=SectionedCommand)
@click.argument("paths", nargs=-1)
@with_options(_HTML, _HISTORY, *SELECTION, *RUN[1:])
def report(html: str, history: int | None, **values: Any) -> int:
    """Write one page for a team: findings by severity, rule, folder and file, and over the commits of a git history.

    The page needs nothing but itself. Exit code: 0 written, whatever was found, 2 something was not checked.
    With --history it needs bokeh: pip install 'amplint[report]'
    """
    options = Options(**values)
    console = Console(options.quiet, options.verbose, options.color)
    if history and find_spec("bokeh") is None:
        console.problem("", "`--history` needs bokeh: pip install 'amplint[report]'")
        return FAILED
    try:
        wanted, result = lint(options, console)
        refuse_to_overwrite(wanted, [("--html", Path(html))])
        past = list(snapshots(options, history, console)) if history else []
    except (ConfigError, RegistryError, RevisionError) as error:
        console.problem("", str(error))
        return FAILED
    title = ", ".join(map(_named, options.paths or (os.curdir,)))
    page = team_page.TeamReport(title, len(result.reports), result.diagnostics, past)
    write_file(Path(html), "".join(team_page.render(page, View(lambda path: None))), console)
    if console.failed:
        return FAILED
    console.note(f"{count(len(result.diagnostics), 'finding')} in {count(len(result.reports), 'file')}: {html}")
    return CLEAN


def _named(path: str) -> str:
    """A path as the page calls it: the current folder, which is another one for whoever reads it, by its name."""
    return os.path.basename(os.getcwd()) if os.path.normpath(path) == os.curdir else path
