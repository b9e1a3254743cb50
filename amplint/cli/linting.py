"""The step that finds: what every command that looks at files begins with."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import click

from amplint.cli.console import Console
from amplint.cli.options import STDIN, Options
from amplint.cli.summary import Result
from amplint.cli.targets import Targets, find_targets
from amplint.diagnostics import Diagnostic, FileReport
from amplint.engine.config import INLINE, ConfigError, Settings, SettingsResolver
from amplint.engine.discovery import FoundFile
from amplint.engine.neighbours import neighbours, project_files, project_of
from amplint.engine.registry import rule_index
from amplint.engine.runner import RunOptions, check_text, run
from amplint.engine.selection import active_codes, names, unknown_rule
from amplint.engine.shards import RunPart


def resolver_of(options: Options) -> SettingsResolver:
    """Who knows the settings of each file, under what the options say.

    Raises:
        ConfigError: settings or selectors are of no use.
        RegistryError: a rule pack cannot be loaded.
    """
    _check_selectors(options)
    return SettingsResolver(options.overrides, options.config.file, options.isolated)


def lint(options: Options, console: Console, resolver: SettingsResolver | None = None) -> tuple[Targets, Result]:
    """Check what the options name; tells the console about what could not be checked.

    Args:
        options: what was asked for.
        console: hears of what could not be checked.
        resolver: what `resolver_of` gives for the options, where that is known already.

    Raises:
        ConfigError: settings or selectors are of no use.
        RegistryError: a rule pack cannot be loaded.
        click.UsageError: stdin and other paths are wanted at once.
    """
    resolver = resolver or resolver_of(options)
    everything = find_targets(options, resolver, console)
    part = _part(everything, options, resolver)
    wanted = everything._replace(files=part.own)
    result = Result(_reports(wanted, part, options, resolver, console))
    for report in result.reports:
        if report.error:
            console.problem(report.path, report.error)
    return wanted, result


def findings_by_row(paths: Iterable[str], select: tuple[str, ...]) -> dict[tuple[str, str, int], Diagnostic]:
    """What is found in files, by code, real path and row; nothing in what is no file.

    Args:
        paths: the files.
        select: the rules that run.
    """
    files = tuple(sorted(filter(os.path.isfile, paths)))
    if not files:
        return {}
    _, result = lint(Options(paths=files, select=select), Console(quiet=True))
    return {
        (one.code, os.path.realpath(report.path), row): one
        for report in result.reports
        for one in report.diagnostics
        for row in range(one.range.start.row, one.range.end.row + 1)
    }


def _check_selectors(options: Options) -> None:
    known = names(rule_index())
    for option, selectors in (
        ("--select", options.select),
        ("--ignore", options.ignore),
        ("--extend-select", options.extend_select),
        ("--per-file-ignores", [word for _, words in options.per_file_ignores for word in words]),
        ("--fixable", options.fixable),
        ("--unfixable", options.unfixable),
    ):
        if problem := unknown_rule(selectors, known):
            raise ConfigError(f"{option}: {problem}")
    if options.config.inline:
        active_codes(Settings(Path.cwd(), origin=INLINE, **dict(options.config.inline)), Path.cwd(), rule_index())


def _named(wanted: Targets, options: Options) -> tuple[str, ...]:
    return () if wanted.stdin is not None else options.paths or (".",)


def _part(wanted: Targets, options: Options, resolver: SettingsResolver) -> RunPart:
    """The files to check, and what bears on them; all of the files, unless a shard is asked for."""
    others = neighbours(wanted.files, _named(wanted, options), resolver, wanted.stdin)
    if options.shard is None:
        return RunPart(wanted.files, others, [])
    if wanted.stdin is not None:
        raise click.UsageError(f"`--shard` parts files, and `{STDIN}` is one")
    from amplint.cli.reporting import refuse_to_overwrite
    from amplint.engine.shards import part_of

    refuse_to_overwrite(wanted, [(one.option, one.path) for one in options.outputs])  # files of other parts, too
    return part_of(options.shard, wanted.files, others)


def _reports(
    wanted: Targets, part: RunPart, options: Options, resolver: SettingsResolver, console: Console
) -> list[FileReport]:
    how = RunOptions(options.jobs, options.cache_dir, options.no_cache)

    def note(text: str) -> None:
        if _is_cache_chosen(wanted, options):
            console.warning("", text)
        else:
            console.detail(text)

    def project() -> list[FoundFile]:
        return [*part.apart, *project_files([*part.own, *part.apart], _named(wanted, options), resolver)]

    if wanted.stdin is not None:
        return [check_text(one, wanted.stdin, how, note, part.others, project) for one in wanted.files]
    try:
        of = project_of(_named(wanted, options))
        return list(run(wanted.files, how, console.progress, note, part.others, project, of))
    finally:
        console.end_progress()


def _is_cache_chosen(wanted: Targets, options: Options) -> bool:
    """Whether somebody has said where the cache is to lie, and expects it there."""
    from amplint.engine.cache_storage import VARIABLE  # slow to import

    named = options.cache_dir or os.environ.get(VARIABLE)
    return bool(named) or any(one.settings.cache_dir for one in wanted.files)
