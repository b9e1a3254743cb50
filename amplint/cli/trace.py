"""`amplint trace`: run a training script, and say what its mixed precision does."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import click

from amplint.cli.console import CLEAN, FAILED, FINDINGS, Console, say
from amplint.cli.option_groups import ANY_ARGUMENTS, PROGRAM, with_options
from amplint.cli.option_values import as_file
from amplint.cli.trace_outputs import NoOutput, TraceOutputs, seen_defects
from amplint.runtime.device_names import AUTO, CHOICES
from amplint.runtime.devices import DeviceError, find_device, require_torch
from amplint.tracing.script import NoProgram, Script
from amplint.tracing.trace_record import TraceRecord


def _limits(ctx: click.Context, param: click.Parameter, wanted: str | None) -> dict[str, float]:
    """What is no success, each with the largest share of steps that is allowed."""
    limits = {}
    for word in (wanted or "").split(",") if wanted is not None else ():
        name, _, share = word.strip().partition(">")
        if name not in ("hazards", "nonfinite", "skips") or (bool(share) != (name == "skips")):
            raise click.BadParameter(f"`{word}` is none of hazards, nonfinite, skips>SHARE", ctx, param)
        try:
            limits[name] = float(share or 0)
        except ValueError:
            raise click.BadParameter(f"`{share}` is no share of steps", ctx, param) from None
    return limits


@click.command(
    "trace", short_help="Run a program, and say what its mixed precision does.", context_settings=ANY_ARGUMENTS
)
@with_options(*PROGRAM)
@click.option("--device", type=click.Choice(CHOICES), default=AUTO, show_default=True,
              help="Where the script runs; cuda-emulated: on the CPU, with CUDA's dtypes.")  # fmt: skip
@click.option("--steps", type=click.IntRange(1), default=None, metavar="N", help="Stop after N steps of optimizers.")
@click.option("--after", type=click.IntRange(0), default=0, metavar="K", help="Look for values from step K+1 on.")
@click.option("--until-nonfinite", is_flag=True, help="Stop at the first value that is not finite and stays.")
@click.option("--ops", is_flag=True, help="Look at every operation (slow): names the one at fault.")
@click.option("--output", metavar="FILE", callback=as_file, help="Write every step, and the whole run, as JSON lines.")
@click.option("--again/--no-again", default=True, show_default=True,
              help="Run one step again, to look at its operations, where something goes wrong, and once for dtypes.")  # fmt: skip
@click.option("--html", metavar="FILE", callback=as_file, help="Write a page with charts; needs bokeh: amplint[trace].")
@click.option(
    "--fail-on",
    metavar="WHAT",
    callback=_limits,
    help="Exit with 1 on `hazards`, `nonfinite` or `skips>SHARE`; with commas.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on standard error.")
def trace(
    script: str,
    arguments: tuple[str, ...],
    is_module: bool,
    device: str,
    steps: int | None,
    after: int,
    until_nonfinite: bool,
    ops: bool,
    again: bool,
    html: Path | None,
    output: Path | None,
    fail_on: dict[str, float],
    quiet: bool,
) -> int:
    """Run SCRIPT with its arguments, and say what its mixed precision does.

    The script runs as `python SCRIPT ARGUMENTS...` would run it; what is seen is told on standard error at the end. Exit code:
    that of the script; 1 where --fail-on says so. Needs PyTorch: pip install 'amplint[trace]'.
    """
    console = Console(quiet)
    try:
        require_torch("tracing", "trace")
        chosen = find_device(device)
        from amplint.tracing.session import TraceOptions, run_traced

        outputs = TraceOutputs(output, html, console, quiet)
        options = TraceOptions(chosen.kind, steps or 0, after, until_nonfinite, ops, again, outputs.keep)
        with closing(outputs), outputs.live.beside_program():
            record, ending = run_traced(Script(script, arguments, is_module), options, seen_defects)
            if ending.traceback:
                say(sys.stderr, ending.traceback)
            outputs.finish(record)
    except (DeviceError, NoProgram, NoOutput) as error:
        if str(error):
            console.problem("", str(error))
        return FAILED
    return ending.exit_code or (FAILED if console.failed else _verdict(record, fail_on))


def _verdict(record: TraceRecord, limits: dict[str, float]) -> int:
    share = record.totals.skipped / max(record.totals.tried, 1)
    failed = (
        ("hazards" in limits and bool(record.defects))
        or ("nonfinite" in limits and record.first is not None)
        or ("skips" in limits and share > limits["skips"])
    )
    return FINDINGS if failed else CLEAN
