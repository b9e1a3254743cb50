"""What the values of options mean: callbacks of click, which read them or refuse them in one line."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from amplint.engine.config import ConfigError, inline
from amplint.engine.config_values import torch_version
from amplint.model.records import NamedTuple

if TYPE_CHECKING:
    from amplint.engine.shards import Shard


class GivenSettings(NamedTuple):
    """What `--config` says: the one configuration file for all files, and fields of `Settings` that are spelled out."""

    file: Path | None = None
    inline: tuple[tuple[str, Any], ...] = ()

    @property
    def from_anywhere(self) -> GivenSettings:
        """The same, for a run that stands in another folder."""
        return self._replace(file=self.file and Path(os.path.abspath(self.file)))


def comma_list(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The items of comma-separated lists."""
    return tuple(word.strip() for value in values for word in value.split(",") if word.strip())


def rule_words(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The selectors of comma-separated lists.

    Raises:
        click.BadParameter: a list is empty.
    """
    for value in values:
        if not comma_list(ctx, param, (value,)):
            raise click.BadParameter("it names no rule", ctx, param)
    return comma_list(ctx, param, values)


def reason_given(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """What is written behind a comment.

    Args:
        ctx: of the command line.
        param: the option.
        value: what it was given; None where it was not.

    Raises:
        click.BadParameter: it would not end with its line.
    """
    if value is not None and len(value.splitlines()) > 1:
        raise click.BadParameter("a reason stands on one line", ctx, param)
    return None if value is None else value.strip()


def per_file_ignores(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`PATTERN:RULE,RULE,PATTERN:RULE`: an item without a colon adds a rule to the pattern before it.

    Raises:
        click.BadParameter: it is of another form.
    """
    found: list[tuple[str, list[str]]] = []
    for value in values:
        before = len(found)
        for word in comma_list(ctx, param, (value,)):
            pattern, colon, rule = word.rpartition(":")
            if colon and pattern and rule:
                found.append((pattern, [rule]))
            elif not colon and len(found) > before:
                found[-1][1].append(word)
            else:
                raise click.BadParameter(f"`{value}` is not of the form PATTERN:RULE,...", ctx, param)
    return tuple((pattern, tuple(rules)) for pattern, rules in found)


def oldest_torch_version(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """A version of PyTorch.

    Raises:
        click.BadParameter: it is none.
    """
    try:
        return None if value is None else torch_version(value)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def shard(ctx: click.Context, param: click.Parameter, value: str | None) -> Shard | None:
    """`I/N`, one of several parts of the files.

    Raises:
        click.BadParameter: it is of another form, or there is no such part.
    """
    if value is None:
        return None
    from amplint.engine.shards import Shard

    number, slash, of = value.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and int(of)):
        raise click.BadParameter(f"`{value}` is not of the form I/N, such as 1/4", ctx, param)
    if not 1 <= int(number) <= int(of):
        raise click.BadParameter(f"of {int(of)} parts there is no number {int(number)}", ctx, param)
    return Shard(int(number), int(of))


def given_settings(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> GivenSettings:
    """A file, and settings as TOML: what holds a `=` and is no file is TOML.

    Raises:
        click.BadParameter: there are several files.
        click.UsageError: the settings are of no use.
    """
    texts = [value for value in values if "=" in value and not os.path.exists(value)]
    files = [Path(value) for value in values if value not in texts]
    if len(files) > 1:
        raise click.BadParameter("only one of them can be a file", ctx, param)
    try:
        return GivenSettings(files[0] if files else None, inline(texts))
    except ConfigError as error:
        raise click.UsageError(str(error), ctx) from error


class WholeText(click.types.StringParamType):
    """Text of which an environment variable holds one value, spaces and all."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return [rv]


def seconds(ctx: click.Context, param: click.Parameter, value: float) -> float:
    """A time.

    Raises:
        click.BadParameter: it has no end.
    """
    if not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number of seconds", ctx, param)
    return value


def as_path(ctx: click.Context, param: click.Parameter, value: str | None) -> Path | None:
    """A file."""
    return None if value is None else Path(value)


def report_file(ctx: click.Context, param: click.Parameter, value: str | None) -> Path | None:
    """The file of a report; None stands for standard output, and so does `-`."""
    return None if value == "-" else as_path(ctx, param, value)


def as_file(ctx: click.Context, param: click.Parameter, value: str | None) -> Path | None:
    """A file to write, beside the report.

    Raises:
        click.BadParameter: it is `-`, which elsewhere stands for standard output.
    """
    if value == "-":
        raise click.BadParameter("standard output is for the report; name a file", ctx, param)
    return as_path(ctx, param, value)
