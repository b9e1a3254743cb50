"""`amplint trace`: run a training script, and say what its mixed precision does."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from amplint.cli.console import CLEAN, FAILED, FINDINGS, Console, say
from amplint.cli.ledger import Ledger
from amplint.cli.linting import lint
from amplint.cli.options import Options, as_file
from amplint.diagnostics import Diagnostic
from amplint.engine.registry import load_rules
from amplint.report.trace import text
from amplint.report.trace.json_rows import run_row, step_row
from amplint.runtime.device_names import AUTO, CHOICES
from amplint.runtime.devices import DeviceError, find_device
from amplint.tracing.script import NoProgram, Script
from amplint.tracing.trace_record import SeenDefect, TraceRecord

if TYPE_CHECKING:
    from amplint.runtime.recording.judge import SeenHazard


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


_ANY_ARGUMENTS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""What follows the script is its own, options and all."""


@click.command("trace", context_settings={"help_option_names": ["-h", "--help"], **_ANY_ARGUMENTS})
@click.option("-m", "is_module", is_flag=True, help="SCRIPT is the name of a module.")
@click.option("--device", type=click.Choice(CHOICES), default=AUTO, show_default=True,
              help="Where the script runs; cuda-emulated: on the CPU, with CUDA's dtypes.")  # fmt: skip
@click.option("--steps", type=click.IntRange(1), default=None, metavar="N", help="Stop after N steps of optimizers.")
@click.option("--after", type=click.IntRange(0), default=0, metavar="K", help="Look for values from step K+1 on.")
@click.option("--until-nonfinite", is_flag=True, help="Stop at the first value that is not finite and stays.")
@click.option("--ops", is_flag=True, help="Look at every operation (slow): names the one at fault.")
@click.option("--output", metavar="FILE", callback=as_file, help="Write every step, and the whole run, as JSON lines.")
@click.option(
    "--fail-on",
    metavar="WHAT",
    callback=_limits,
    help="Exit with 1 on `hazards`, `nonfinite` or `skips>SHARE`; with commas.",
)
@click.option("-q", "--quiet", is_flag=True, help="Say nothing on standard error.")
@click.argument("script")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def trace(
    script: str,
    arguments: tuple[str, ...],
    is_module: bool,
    device: str,
    steps: int | None,
    after: int,
    until_nonfinite: bool,
    ops: bool,
    output: Path | None,
    fail_on: dict[str, float],
    quiet: bool,
) -> int:
    """Run SCRIPT with its arguments, and say what its mixed precision does.

    The script runs as `python SCRIPT ARGUMENTS...` would run it; what is seen is told on standard error at the end. Exit code:
    that of the script; 1 where --fail-on says so. Needs PyTorch: pip install 'amplint[verify]'.
    """
    console = Console(quiet)
    try:
        chosen = find_device(device)
        from amplint.tracing.session import TraceOptions, run_traced

        ledger = Ledger(output, console)
        if not ledger.open():
            return FAILED  # now, not after hours of training
        options = TraceOptions(
            chosen.kind, steps or 0, after, until_nonfinite, ops, lambda step: ledger.keep_line(step_row(step))
        )
        with closing(ledger):
            record, ending = run_traced(Script(script, arguments, is_module), options, described)
            ledger.keep_line(run_row(record))
    except (DeviceError, NoProgram) as error:
        console.problem("", str(error))
        return FAILED
    if ending.traceback:
        say(sys.stderr, ending.traceback)
    if not quiet:
        say(sys.stderr, "".join(f"{line}\n" for line in text.render(record)))
    return ending.exit_code or (FAILED if console.failed else _verdict(record, fail_on))


def _verdict(record: TraceRecord, limits: dict[str, float]) -> int:
    share = record.totals.skipped / max(record.totals.tried, 1)
    failed = (
        ("hazards" in limits and bool(record.defects))
        or ("nonfinite" in limits and record.first is not None)
        or ("skips" in limits and share > limits["skips"])
    )
    return FINDINGS if failed else CLEAN


def described(hazards: Sequence[tuple[SeenHazard, int]]) -> list[SeenDefect]:
    """What was seen, with the words of the linter for the same code at the same line, where it has any."""
    rules = {rule.name: rule for rule in load_rules()}
    read = _findings(sorted({each.place.file for each, _ in hazards if os.path.isfile(each.place.file)}))
    found = []
    for each, step in hazards:
        rule = rules[each.kind]
        said = read.get((rule.code, os.path.realpath(each.place.file), each.place.line))
        message = said.message if said is not None else rule.summary
        place = f"{_shown(each.place.file)}:{each.place.line}"
        found.append(SeenDefect(rule.code, rule.name, place, message, each.times, step, said is not None))
    return found


def _findings(paths: Sequence[str]) -> dict[tuple[str, str, int], Diagnostic]:
    """What the linter says of files, by code, file and line."""
    if not paths:
        return {}
    _, result = lint(Options(paths=tuple(paths), select=("ALL",)), Console(quiet=True))
    return {
        (one.code, os.path.realpath(report.path), row): one
        for report in result.reports
        for one in report.diagnostics
        for row in range(one.range.start.row, one.range.end.row + 1)
    }


def _shown(path: str) -> str:
    inside = os.path.relpath(path)
    return path if inside.startswith(os.pardir) else inside
