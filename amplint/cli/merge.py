"""`amplint merge`: the reports of the parts of a run, put together."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from amplint.cli.console import CLEAN, FAILED, Console, say
from amplint.cli.reporting import write_file
from amplint.report.merging import MergeError, put_together, read_part
from amplint.system.reading import SOURCE_LIMIT, read_file


@click.command("merge", short_help="Put reports, or parts of a baseline, together.")
@click.argument("reports", nargs=-1, required=True)
@click.option("-o", "--output-file", metavar="FILE", help="Write the report to a file; - is stdout.")
def merge(reports: tuple[str, ...], output_file: str | None) -> int:
    """Put REPORTS together, of one format: json, jsonl, gitlab, sarif, or the parts of a baseline.

    What several of them hold stands in the result once, in the order in which one run would have told it. Exit code: 0 done,
    2 something is no report.
    """
    console = Console()
    parts = []
    for name in reports:
        try:
            parts.append(read_part(name, read_file(name, SOURCE_LIMIT)))
        except OSError as error:
            console.problem(name, f"cannot be read: {error.strerror or error}")
        except MergeError as error:
            console.problem(name, str(error))
    if console.failed:
        return FAILED
    try:
        text = put_together(parts)
    except MergeError as error:
        console.problem("", str(error))
        return FAILED
    if output_file is None or output_file == "-":
        say(sys.stdout, text)
    else:
        write_file(Path(output_file), text, console)
    return FAILED if console.failed else CLEAN
