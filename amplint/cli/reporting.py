"""The step of `amplint check` that writes the report."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from amplint.cli.console import Console, say, wants_color
from amplint.cli.options import Options
from amplint.cli.outputs import Output
from amplint.cli.summary import Result
from amplint.cli.targets import Targets
from amplint.report import FORMATS, renderer
from amplint.report.view import View
from amplint.source import Source
from amplint.system import atomic


def write_report(wanted: Targets, result: Result, options: Options, console: Console) -> None:
    """Write all findings to where they are wanted, in the forms in which they are wanted.

    Args:
        wanted: the files, for the texts that some formats show.
        result: what was found in them.
        options: where the reports go, and their forms.
        console: hears of a file that cannot be written.
    """

    def source(path: str) -> Source | None:
        return result.source(path, wanted.read)

    view = View(source, options.unsafe_fixes, unchecked=tuple(console.unchecked))
    for output in options.outputs:
        if output.path is None:
            view = view._replace(color=wants_color(options.color, options.stream))
            for piece in _pieces(output, result, view, options.statistics):
                say(options.stream, piece)
        else:
            view = view._replace(color=options.color == "always")
            write_file(output.path, "".join(_pieces(output, result, view, options.statistics)), console)


def refuse_to_overwrite(wanted: Targets, outputs: Iterable[tuple[str, Path | None]]) -> None:
    """Raise where a report would take the place of code, or of another report.

    Args:
        wanted: the files that are checked.
        outputs: options, and the files that are to be written for them; None where an option names none.

    Raises:
        click.UsageError: one would.
    """
    taken = {os.path.realpath(each.path): f"`{each.display}`, which is checked" for each in wanted.files}
    for option, path in outputs:
        if path is None:
            continue
        if os.path.realpath(path) in taken:
            raise click.UsageError(f"`{option}` would overwrite {taken[os.path.realpath(path)]}")
        taken[os.path.realpath(path)] = f"what `{option}` writes"


def write_file(path: Path, text: str, console: Console) -> None:
    """Write a report to a file, or tell the console that this cannot be done; then an old report is still there.

    Args:
        path: the file.
        text: the report.
        console: hears of what cannot be written.
    """
    try:
        put(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        console.problem(str(path), f"cannot be written: {error.strerror or error}")


def put(path: Path, data: bytes) -> None:
    """Write a report: to a file in one step, into a pipe or a device as it comes.

    Args:
        path: the file, pipe or device.
        data: the report.

    Raises:
        OSError: it cannot be written; a file is as it was.
    """
    if atomic.is_stream(path):
        path.write_bytes(data)
        return
    refuse_astray(path)
    atomic.replace(path, data)


def refuse_astray(path: Path) -> None:
    """Raise for a link to a file in another folder: linted code may bring it along, to have that file overwritten.

    Raises:
        OSError: it is one.
    """
    if path.is_symlink() and not atomic.is_stream(path):
        if os.path.dirname(os.path.realpath(path)) != os.path.realpath(path.parent):
            raise OSError(errno.ELOOP, "it is a link that leads out of its folder")


def _pieces(output: Output, result: Result, view: View, counted: bool) -> Iterator[str]:
    if not counted:
        return renderer(output.format)(result.diagnostics, view)
    from amplint.report import statistics

    render = statistics.render if FORMATS[output.format].for_people else statistics.render_json
    return render(result.diagnostics, view, sum(len(report.partly) for report in result.reports))
