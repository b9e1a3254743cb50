"""`amplint check`: find, fix, report."""

from __future__ import annotations

from typing import Any

import click

from amplint.checker import check_bytes, withdraw
from amplint.cli.console import CLEAN, FAILED, FINDINGS, Console
from amplint.cli.options import Options, check_options
from amplint.cli.summary import Result, summarize
from amplint.cli.targets import Targets, targets
from amplint.config import ConfigError, SettingsResolver
from amplint.diagnostics import FileReport
from amplint.registry import RegistryError, rule_index
from amplint.runner import RunOptions, run
from amplint.selection import check_selectors, names


@click.command("check", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1)
@check_options
def check(**values: Any) -> int:
    """Check files and folders (the current one when none is named); `-` reads stdin.

    Findings go to stdout, all else to stderr. Exit code: 0 nothing found, 1 findings, 2 something was not checked.

    RULES are codes (AMP101), prefixes (AMP1), names (clip-before-unscale) and ALL, separated by commas.
    """
    options = Options(**values)
    console = Console(options.quiet, options.verbose, options.color)
    try:
        return _check(options, console)
    except (ConfigError, RegistryError) as error:
        console.problem("", str(error))
        return FAILED


def _check(options: Options, console: Console) -> int:
    _check_selectors(options)
    wanted = targets(options, SettingsResolver(options.overrides, options.config, options.isolated), console)
    result = Result(_reports(wanted, options, console))
    for report in result.reports:
        if report.error:
            console.problem(report.path, report.error)
    # What a clean run has no use for is not imported.
    if options.fix or options.diff:
        from amplint.cli.fixing import fix_all

        fix_all(wanted, result, options, console)
    if not options.diff and (result.diagnostics or options.output_file or options.output_format == "json"):
        from amplint.cli.reporting import write_report

        write_report(wanted, result, options, console)
    summarize(result, options, console)
    return _exit_code(result, options, console.failed)


def _check_selectors(options: Options) -> None:
    known = names(rule_index())
    check_selectors(options.select, known, "--select")
    check_selectors(options.ignore, known, "--ignore")
    check_selectors(options.extend_select, known, "--extend-select")
    for _, selectors in options.per_file_ignores:
        check_selectors(selectors, known, "--per-file-ignores")


def _reports(wanted: Targets, options: Options, console: Console) -> list[FileReport]:
    if wanted.stdin is not None:
        data = wanted.stdin
        reports = [check_bytes(one.display, data, one.settings, one.path, explicit=True) for one in wanted.files]
        return [withdraw(report, report.facts) for report in reports]
    try:
        how = RunOptions(options.jobs, options.cache_dir, options.no_cache)
        return list(run(wanted.files, how, console.progress, console.detail))
    finally:
        console.end_progress()


def _exit_code(result: Result, options: Options, failed: bool) -> int:
    if failed:
        return FAILED
    if options.diff:
        return FINDINGS if result.fixed else CLEAN
    remains = bool(result.diagnostics) or options.exit_non_zero_on_fix and bool(result.fixed)
    return FINDINGS if remains and not options.exit_zero else CLEAN
