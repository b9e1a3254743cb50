"""`amplint check`: find, fix, report."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from amplint.cli.completion import complete_files
from amplint.cli.console import CLEAN, FAILED, FINDINGS, Console
from amplint.cli.help import SectionedCommand
from amplint.cli.linting import lint, resolver_of
from amplint.cli.option_groups import FIXING, REPLAY, REPORT, RUN, SELECTION, SHOWING, TEAM, WATCHING, with_options
from amplint.cli.option_values import GivenSettings
from amplint.cli.options import Options
from amplint.cli.outputs import Output, settled
from amplint.cli.summary import Result, summarize
from amplint.engine.config import ConfigError, Settings, SettingsResolver
from amplint.engine.registry import RegistryError
from amplint.system.reading import is_below

if TYPE_CHECKING:
    from amplint.cli.narrowing import Narrowing
    from amplint.cli.proof import Prover
    from amplint.cli.targets import Targets


_UNASKED = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


@click.command("check", short_help="Find misuse of mixed precision, and fix it.", cls=SectionedCommand)
@click.argument("paths", nargs=-1, shell_complete=complete_files)
@with_options(*FIXING, *REPLAY, *SELECTION, *SHOWING, *TEAM, *REPORT, *RUN, *WATCHING)
def check(**values: Any) -> int:
    """Check files and folders (the current one when none is named); `-` reads stdin.

    Findings go to stdout, all else to stderr. Exit code: 0 nothing found, 1 findings, 2 something was not checked.

    RULES are codes (AMP101), prefixes (AMP1), names (clip-before-unscale) and ALL, separated by commas.
    """
    options = Options(**values)
    _refuse_idle(options)
    if options.watch:
        from amplint.cli.watch import watched

        return watched(options, lambda: _once(options))
    return _once(options)


def _once(options: Options) -> int:
    console = Console(options.quiet, options.verbose, options.color)
    try:
        resolver = resolver_of(options)
        options = _with_settings(options, resolver.for_folder(Path.cwd()))
        reports = settled(options.outputs, options.output_file, options.statistics, options.stream)
        return _check(options._replace(outputs=reports), resolver, console)
    except (ConfigError, RegistryError) as error:
        console.problem("", str(error))
        return FAILED


def _refuse_idle(options: Options) -> None:
    """Raise for options that would do nothing: what somebody asked for and does not get is an error."""
    _refuse_together(options)
    asked = click.get_current_context().get_parameter_source

    def given(*names: str) -> str:
        found = (name for name in names if asked(name.replace("-", "_")) is ParameterSource.COMMANDLINE)
        return " and ".join(f"`--{name}`" for name in found)

    if not options.verify and (idle := given("device", "seed", "timeout")):
        raise click.UsageError(f"{idle} without `--verify`: nothing is replayed")
    if options.exit_zero and (idle := given("fail-on")):
        raise click.UsageError(f"{idle} with `--exit-zero`: nothing fails")
    filed = asked("outputs") is ParameterSource.COMMANDLINE and any(one.path for one in options.outputs)
    if options.diff and (filed or given("output-file")):
        raise click.UsageError("`--diff` shows a diff and writes no report; redirect it to a file")


def _refuse_together(options: Options) -> None:
    """Raise for options that each want something else to become of findings."""
    wanted = {
        "--fix": options.fix or options.fix_only or options.verify,
        "--add-noqa": options.add_noqa is not None,
        "--add-ignore": options.add_ignore is not None,
        "--show-files": options.show_files,
        "--show-settings": options.show_settings,
    }
    given = [f"`{name}`" for name, asked in wanted.items() if asked]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} cannot be combined")


def _with_settings(options: Options, settings: Settings) -> Options:
    """The options, and where nobody gave one what the settings of the current folder say in its place."""
    asked = click.get_current_context().get_parameter_source
    fix = settings.fix and _speaks_of_paths(settings, options)
    outputs = (Output(settings.output_format),) if settings.output_format else ()
    wanted: dict[str, Any] = {"outputs": outputs, "fix": fix, "unsafe_fixes": settings.unsafe_fixes}
    options = options._replace(**{name: each for name, each in wanted.items() if each and asked(name) in _UNASKED})
    if options.adds_comments:
        return options._replace(fix=False)
    return options._replace(fix=True) if options.fix_only else options


def _speaks_of_paths(settings: Settings, options: Options) -> bool:
    """Whether all paths lie below the settings: those of a tree that somebody else wrote change no file outside of it."""
    if options.config != GivenSettings():
        return True
    return all(is_below(os.path.join(path, "inside"), settings.root) for path in options.paths)


def _check(options: Options, resolver: SettingsResolver, console: Console) -> int:
    # What a clean run has no use for is not imported.
    if options.show_files or options.show_settings:
        from amplint.cli.showing import show

        return show(options, resolver, console)
    if options.verify:
        if not (options.fix or options.diff):
            raise click.UsageError(
                "`--verify` needs `--fix` or `--diff`; to replay findings and fix nothing: `amplint verify`"
            )
        return _check_with_proof(options, resolver, console)
    return _linted(options, resolver, console, None)


def _check_with_proof(options: Options, resolver: SettingsResolver, console: Console) -> int:
    from amplint.cli.proof import Prover, how_to_replay
    from amplint.runtime.devices import DeviceError

    try:
        how = how_to_replay(options)
    except DeviceError as error:
        console.problem("", str(error))
        return FAILED
    with Prover(how, options, console) as prover:
        return _linted(options, resolver, console, prover)


def _linted(options: Options, resolver: SettingsResolver, console: Console, prover: Prover | None) -> int:
    wanted, result = lint(options, console, resolver)
    narrowing = _narrowing(wanted, options)
    if narrowing is not None:
        narrowing.begin(result, console)
    if any(one.path for one in options.outputs):
        from amplint.cli.reporting import refuse_to_overwrite

        refuse_to_overwrite(wanted, [(one.option, one.path) for one in options.outputs])
    if options.fix or options.diff or options.adds_comments:
        from amplint.cli.fixing import fix_all

        if prover is not None:
            prover.foresee(wanted, result)
        steps = [] if narrowing is None else [narrowing.new]
        fix_all(wanted, result, options, console, steps if prover is None else [*steps, prover.confirmed])
    if options.update_baseline and narrowing is not None:
        narrowing.end(result, console)
        return FAILED if console.failed else CLEAN
    is_due = result.diagnostics or any(one.is_due for one in options.outputs)
    if is_due and not options.diff and not options.fix_only:
        from amplint.cli.reporting import write_report

        write_report(wanted, result, options, console)
    summarize(result, options, console)
    return _exit_code(result, options, console.failed)


def _narrowing(wanted: Targets, options: Options) -> Narrowing | None:
    """What tells the new findings; None where nobody asks for that."""
    asked = options.baseline or options.update_baseline or options.since is not None
    if not asked and not any(item.settings.baseline for item in wanted.files):
        return None
    from amplint.cli.narrowing import Narrowing

    return Narrowing(wanted, options)


def _exit_code(result: Result, options: Options, failed: bool) -> int:
    if failed:
        return FAILED
    if options.diff:
        return FINDINGS if result.fixed else CLEAN
    remains = options.fails(result.diagnostics) and not options.fix_only
    remains = remains or options.exit_non_zero_on_fix and bool(result.fixed)
    return FINDINGS if remains and not options.exit_zero else CLEAN
