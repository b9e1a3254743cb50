"""`amplint profile`: run a program in every precision, and say which one pays."""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import click

from amplint.cli.console import CLEAN, FAILED, FINDINGS, INTERRUPTED, Console, say
from amplint.cli.linting import findings_by_row
from amplint.cli.option_groups import ANY_ARGUMENTS, PROGRAM, with_options
from amplint.cli.option_values import as_file
from amplint.cli.reporting import write_file
from amplint.cli.trace_outputs import NoOutput
from amplint.profile.modes import FLOAT32, MODES
from amplint.profile.profile_record import ProfileRecord
from amplint.runtime.device_choice import choose_device
from amplint.runtime.device_names import AUTO, CHOICES, CPU
from amplint.runtime.devices import DeviceError, require_torch
from amplint.system.reading import shown_path
from amplint.tracing.script import NoProgram, Script

_SIZES = ("AMP401", "AMP402")
"""The rules that speak of the sizes of layers."""


def _modes(ctx: click.Context, param: click.Parameter, wanted: str | None) -> tuple[str, ...]:
    words = tuple(word.strip() for word in (wanted or "").split(",") if word.strip())
    for word in words:
        if word not in MODES:
            raise click.BadParameter(f"`{word}` is none of {', '.join(MODES)}", ctx, param)
    return words


def _script(target: str, arguments: tuple[str, ...], is_module: bool) -> Script:
    path, colon, function = target.rpartition(":")
    if colon and function.isidentifier() and not os.path.exists(target):
        return Script(path, arguments, is_module, function)
    return Script(target, arguments, is_module)


@click.command(
    "profile", short_help="Run a program in each precision, and say which one pays.", context_settings=ANY_ARGUMENTS
)
@with_options(*PROGRAM)
@click.option("--steps", type=click.IntRange(2), default=20, show_default=True, metavar="N",
              help="Measure N steps of optimizers in each turn.")  # fmt: skip
@click.option("--warmup", type=click.IntRange(1), default=5, show_default=True, metavar="K",
              help="Leave out K steps before them.")  # fmt: skip
@click.option("--modes", metavar="LIST", callback=_modes,
              help=f"Compare these with float32: {', '.join(MODES)}; by default what the device can do.")  # fmt: skip
@click.option("--device", type=click.Choice(CHOICES), default=AUTO, show_default=True,
              help="Where the program runs; cuda-emulated: on the CPU, with CUDA's dtypes and without times.")  # fmt: skip
@click.option("--output", metavar="FILE", callback=as_file, help="Write all numbers as JSON.")
@click.option("--html", metavar="FILE", callback=as_file, help="Write a page with charts; needs bokeh: amplint[trace].")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def profile(
    script: str,
    arguments: tuple[str, ...],
    is_module: bool,
    steps: int,
    warmup: int,
    modes: tuple[str, ...],
    device: str,
    output: Path | None,
    html: Path | None,
    quiet: bool,
) -> int:
    """Run SCRIPT in float32, TF32, float16 and bfloat16, and say which one pays.

    The program's own autocast regions and scalers are set from outside, nothing of it is edited. SCRIPT:FUNCTION imports the
    script and calls the function again and again. Exit code: 0 measured; 1 a precision goes wrong; 2 not all was measured.
    """
    console = Console(quiet)
    try:
        if html is not None and find_spec("bokeh") is None:
            raise NoOutput("a page needs bokeh: pip install 'amplint[trace]'")
        _refuse_unwritable(output, html)
        if "RANK" in os.environ:
            raise NoProgram("one process is profiled at a time: start without torchrun")
        require_torch("profiling", "trace")
        chosen = choose_device(device)
        from amplint.profile.profiler import ProfileOptions, profile_program

        def progress(done: int, total: int) -> None:
            console.progress(done, total, "turns")

        program = _script(script, arguments, is_module)
        record = profile_program(ProfileOptions(program, chosen, modes, steps, warmup, progress))
    except (DeviceError, NoProgram, NoOutput) as error:
        console.problem("", str(error))
        return FAILED
    finally:
        console.end_progress()
    _conclude(record)
    _write(record, output, html, console)
    return _code(record, console)


def _refuse_unwritable(*paths: Path | None) -> None:
    """Raise for files in folders that are not there: now, not after minutes of work."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise NoOutput(f"{path.parent}: cannot be written: {os.strerror(errno.ENOENT)}")


def _conclude(record: ProfileRecord) -> None:
    """Merge what the linter says, and put all of it in words."""
    from amplint.profile.advice import advise
    from amplint.profile.layers import costly_layers, files_of

    files = files_of(record.looks) if record.device != CPU else ()  # the rules speak of tensor cores
    findings = {(path, row): one for (_, path, row), one in findings_by_row(files, _SIZES).items()}
    layers = costly_layers(record, findings)
    record.layers = [replace(one, place=shown_path(one.place) if one.place else "") for one in layers]
    record.advice = advise(record)


def _write(record: ProfileRecord, output: Path | None, html: Path | None, console: Console) -> None:
    from amplint.report.profile import text

    for said in dict.fromkeys(turn.traceback for turn in record.turns if turn.traceback):
        say(sys.stderr, said)
    say(sys.stdout, "".join(f"{line}\n" for line in text.render(record)))
    if output is not None:
        from amplint.report.profile import json_document

        write_file(output, json_document.render(record), console)
    if html is not None:
        from amplint.report.profile import page

        write_file(html, "".join(page.render(record)), console)


def _code(record: ProfileRecord, console: Console) -> int:
    if record.stopped == "interrupted":
        return INTERRUPTED
    if console.failed or record.stopped or any(not one.steps for one in record.modes):
        return FAILED
    from amplint.profile.advice import is_fit

    return CLEAN if all(one.mode == FLOAT32 or is_fit(one, record) for one in record.modes) else FINDINGS
