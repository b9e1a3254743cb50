"""`amplint check`: find, fix, report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from amplint.cli.console import CLEAN, FAILED, FINDINGS, Console
from amplint.cli.help import SectionedCommand
from amplint.cli.linting import lint
from amplint.cli.options import FIXING, REPLAY, REPORT, RUN, SELECTION, TEAM, Options, with_options
from amplint.cli.outputs import settled
from amplint.cli.summary import Result, summarize
from amplint.engine.config import ConfigError
from amplint.engine.registry import RegistryError

if TYPE_CHECKING:
    from amplint.cli.narrowing import Narrowing
    from amplint.cli.proof import Prover
    from amplint.cli.targets import Targets


@click.command("check", cls=SectionedCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1)
@with_options(*FIXING, *REPLAY, *SELECTION, *TEAM, *REPORT, *RUN)
def check(**values: Any) -> int:
    """Check files and folders (the current one when none is named); `-` reads stdin.

    Findings go to stdout, all else to stderr. Exit code: 0 nothing found, 1 findings, 2 something was not checked.

    RULES are codes (AMP101), prefixes (AMP1), names (clip-before-unscale) and ALL, separated by commas.
    """
    options = Options(**values)
    _refuse_idle(options)
    reports = settled(options.outputs, options.output_file, options.statistics, options.stream)
    options = options._replace(outputs=reports)
    console = Console(options.quiet, options.verbose, options.color)
    try:
        return _check(options, console)
    except (ConfigError, RegistryError) as error:
        console.problem("", str(error))
        return FAILED


def _refuse_idle(options: Options) -> None:
    """Raise for options that would do nothing: what somebody asked for and does not get is an error."""
    asked = click.get_current_context().get_parameter_source

    def given(*names: str) -> str:
        found = (name for name in names if asked(name.replace("-", "_")) is ParameterSource.COMMANDLINE)
        return " and ".join(f"`--{name}`" for name in found)

    if not options.verify and (idle := given("device", "seed", "timeout")):
        raise click.UsageError(f"{idle} without `--verify`: nothing is replayed")
    if options.exit_zero and (idle := given("fail-on")):
        raise click.UsageError(f"{idle} with `--exit-zero`: nothing fails")


def _check(options: Options, console: Console) -> int:
    # What a clean run has no use for is not imported.
    if options.verify:
        if not (options.fix or options.diff):
            raise click.UsageError(
                "`--verify` needs `--fix` or `--diff`; to replay findings and fix nothing: `amplint verify`"
            )
        return _check_with_proof(options, console)
    return _linted(options, console, None)


def _check_with_proof(options: Options, console: Console) -> int:
    from amplint.cli.proof import Prover, how_to_replay
    from amplint.runtime.devices import DeviceError

    try:
        how = how_to_replay(options)
    except DeviceError as error:
        console.problem("", str(error))
        return FAILED
    with Prover(how, options, console) as prover:
        return _linted(options, console, prover)


def _linted(options: Options, console: Console, prover: Prover | None) -> int:
    wanted, result = lint(options, console)
    narrowing = _narrowing(wanted, options)
    if narrowing is not None:
        narrowing.begin(result, console)
    if any(one.path for one in options.outputs):
        from amplint.cli.reporting import refuse_to_overwrite

        refuse_to_overwrite(wanted, [(one.option, one.path) for one in options.outputs])
    if options.fix or options.diff:
        from amplint.cli.fixing import fix_all

        if prover is not None:
            prover.foresee(wanted, result)
        steps = [] if narrowing is None else [narrowing.new]
        fix_all(wanted, result, options, console, steps if prover is None else [*steps, prover.confirmed])
    if options.update_baseline and narrowing is not None:
        narrowing.end(result, console)
        return FAILED if console.failed else CLEAN
    if not options.diff and (result.diagnostics or any(one.is_due for one in options.outputs)):
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
    remains = options.fails(result.diagnostics) or options.exit_non_zero_on_fix and bool(result.fixed)
    return FINDINGS if remains and not options.exit_zero else CLEAN
