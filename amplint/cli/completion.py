"""What a shell offers on the Tab key: files, rules, keys of settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def complete_files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Whatever files the shell knows."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def complete_rules(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Codes and names of rules, also behind the last comma of a list."""
    from click.shell_completion import CompletionItem

    from amplint.engine.selection import ALL, all_rules

    before, comma, word = incomplete.rpartition(",")
    known = all_rules().values()
    words = [ALL, *(info.code for info in known), *(info.name for info in known)]
    fitting = (each for each in words if each.lower().startswith(word.lower()))
    return [CompletionItem(before + comma + each) for each in fitting]


def complete_formats(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Formats of reports; behind `FORMAT=`, whatever files the shell knows."""
    from click.shell_completion import CompletionItem

    from amplint.report import FORMATS

    if "=" in incomplete:
        return [CompletionItem(incomplete, type="file")]
    return [CompletionItem(name) for name in FORMATS if name.startswith(incomplete)]


def complete_keys(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Keys of settings."""
    from amplint.engine.config_values import KEYS

    return [name for name in KEYS if name.startswith(incomplete)]
