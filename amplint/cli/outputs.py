"""Which reports are wanted, and where each goes: `--output-format FORMAT[=FILE]`, several times, and `--output-file`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

import click

from amplint.engine.nearest import nearest
from amplint.model.records import NamedTuple
from amplint.report import FORMATS


class Output(NamedTuple):
    """A report that is wanted: its format, a key of `FORMATS`; its file, None for standard output; the option that said so."""

    format: str
    path: Path | None = None
    option: str = "--output-format"

    @property
    def is_for_people(self) -> bool:
        """Whether somebody may read it as it comes."""
        return self.path is None and FORMATS[self.format].for_people

    @property
    def is_due(self) -> bool:
        """Whether it is written when nothing was found, too: an old file must not be left behind."""
        return self.path is not None or FORMATS[self.format].is_document


def outputs(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[Output, ...]:
    """The reports that are named; a click callback.

    Args:
        ctx: click's.
        param: the option, for the message.
        values: each a format, or `FORMAT=FILE`, in which the file may be `-`.

    Raises:
        click.BadParameter: there is no such format, or a file has no name.
    """
    found = []
    for value in values:
        name, equals, path = value.partition("=")
        if name not in FORMATS:
            near = nearest(name, [*FORMATS])
            raise click.BadParameter(f"`{name}` is none of {', '.join(FORMATS)}{near}", ctx, param)
        if equals and not path:
            raise click.BadParameter(f"`{value}` names no file", ctx, param)
        found.append(Output(name, None if path in ("", "-") else Path(path)))
    return tuple(found)


def settled(named: Sequence[Output], file: Path | None, statistics: bool, stream: TextIO) -> tuple[Output, ...]:
    """What is to be written: each report with its place, and the default where none is named.

    That is `full` on a terminal, and `concise` elsewhere: in a pipe, in a file, and where editors or pre-commit run the
    program.

    Args:
        named: the reports that were named.
        file: what `--output-file` names.
        statistics: whether counts are wanted in place of findings.
        stream: where a report without a file goes.

    Raises:
        click.UsageError: two reports would go to one place, one has no place, or one has no form for counts.
    """
    given = named or (Output(_default(file, stream)),)
    unplaced = [one.format for one in given if one.path is None]
    if len(unplaced) > 1:
        listed = " and ".join(f"`{name}`" for name in unplaced)
        example = f"`--output-format {unplaced[1]}=FILE`"
        raise click.UsageError(f"{listed} cannot go to one place; give one a file of its own: {example}")
    if file is not None and not unplaced:
        raise click.UsageError("`--output-file` has nothing to hold: every `--output-format` names its own file")
    for one in given:
        if statistics and not FORMATS[one.format].counts:
            counting = ", ".join(name for name, each in FORMATS.items() if each.counts)
            raise click.UsageError(f"`--statistics` has no form for `{one.format}`, only for {counting}")
    return tuple(one if one.path else one._replace(path=file, option="--output-file") for one in given)


def _default(file: Path | None, stream: TextIO) -> str:
    # pre-commit runs its hooks on a terminal of its own making, to get colours.
    parsed = os.environ.get("TERM") == "dumb" or os.environ.get("PRE_COMMIT")
    return "full" if file is None and stream.isatty() and not parsed else "concise"
