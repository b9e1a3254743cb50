"""`amplint verify`: replay every fix, and show what was measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from amplint.cli.console import CLEAN, FAILED, FINDINGS, Console, say, wants_color
from amplint.cli.ledger import Ledger
from amplint.cli.linting import lint
from amplint.cli.options import REPLAY, RUN, SELECTION, Options, as_file, with_options
from amplint.cli.proof import how_to_replay, replays_shown
from amplint.cli.reporting import refuse_to_overwrite, write_file
from amplint.cli.summary import Result, count
from amplint.cli.targets import Targets
from amplint.engine.checker import with_location
from amplint.engine.config import ConfigError
from amplint.engine.fixer import fixable, never_applied
from amplint.engine.linter import SYNTAX_ERROR
from amplint.engine.registry import RegistryError, load_rules
from amplint.report.evidence import record, text
from amplint.report.evidence.text import place
from amplint.report.view import View
from amplint.runtime.devices import Device, DeviceError
from amplint.runtime.evidence import Evidence
from amplint.runtime.verdict import ERROR, REFUTED
from amplint.runtime.verify import FixableFinding
from amplint.runtime.verify import verify_findings as replay_all


def _text(evidence: Iterable[Evidence], view: View) -> Iterator[str]:
    """A line as soon as it is known, then the table."""
    seen: list[Evidence] = []
    for one in evidence:
        seen.append(one)
        yield text.line(one, view)
    if seen:
        yield "\n" + "".join(text.table(seen, view))


def _json(evidence: Iterable[Evidence], view: View) -> Iterator[str]:
    yield json.dumps([record.evidence_record(one) for one in evidence], indent=2, allow_nan=False) + "\n"


def _html(evidence: Iterable[Evidence], view: View) -> Iterator[str]:
    from amplint.report.evidence import page

    yield from page.render(list(evidence))


FORMATS: dict[str, Callable[[Iterable[Evidence], View], Iterator[str]]] = {"text": _text, "json": _json, "html": _html}

_UNSAFE = click.option(
    "--unsafe-fixes", is_flag=True, help="Replay the unsafe fixes, too, and those that are only shown."
)
_TRUST = click.option(
    "--trust",
    is_flag=True,
    help="Run the author's own function where its expression cannot be read: the files' code, and what it imports, is executed.",
)
_REPORT = (
    click.option(
        "--output-format", type=click.Choice(list(FORMATS)), default="text", show_default=True, help="The form of the report."
    ),
    click.option("--evidence", metavar="FILE", callback=as_file, help="Write what was measured to a file, as JSON lines."),
)  # fmt: skip


@click.command("verify", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1)
@with_options(_UNSAFE, _TRUST, *REPLAY, *SELECTION, *_REPORT, *RUN)
def verify(evidence: Path | None, **values: Any) -> int:
    """Replay the fix of every finding on a device, and say whether it holds.

    No code of the files is run, unless --trust says so: real PyTorch objects go through what it does, before the fix and after.
    Exit code: 0 no fix was refuted, 1 one was, 2 something went wrong. Needs PyTorch: pip install 'amplint[verify]'.
    """
    options = Options(**values)
    console = Console(options.quiet, options.verbose, options.color)
    try:
        return _verify(options, evidence, console)
    except (ConfigError, DeviceError, RegistryError) as error:
        console.problem("", str(error))
        return FAILED


def _verify(options: Options, kept: Path | None, console: Console) -> int:
    how = how_to_replay(options)
    wanted, result = lint(options, console)
    refuse_to_overwrite(wanted, {"--evidence": kept, "--output-file": options.output_file})
    for one in result.diagnostics:
        if one.code == SYNTAX_ERROR:
            console.problem(place(one), one.message)
    findings = _findings(wanted, result, options)
    ledger = Ledger(kept, console)
    if not ledger.open():
        return FAILED  # now, not after minutes of work
    evidence: list[Evidence] = []

    def gathered() -> Iterator[Evidence]:
        for one in replay_all(findings, how, replays_shown(console)):
            evidence.append(one)
            ledger.keep(one)
            console.end_progress()
            yield one
        ledger.end()

    with closing(ledger):
        _write(FORMATS[options.output_format], gathered(), options, console)
    _summarize(evidence, how.device, options, console)
    return _exit_code(evidence, console.failed)


def _findings(wanted: Targets, result: Result, options: Options) -> list[FixableFinding]:
    findings: list[FixableFinding] = []
    files = {item.display: item for item in wanted.files}
    observed = {rule.code for rule in load_rules() if rule.observable is not None}
    for report in result.reports:
        ours = fixable(report, options.unsafe_fixes)
        if options.unsafe_fixes:
            ours += [one for one in never_applied(report) if one.code in observed]
        source = result.source(report.path, wanted.read) if ours else None
        if source is not None:
            item = files[report.path]
            source = with_location(source, item.settings, item.path, report.entered)
            findings += (FixableFinding(source, one) for one in sorted(ours, key=lambda one: one.sort_key))
    return findings


def _write(
    render: Callable[[Iterable[Evidence], View], Iterator[str]],
    evidence: Iterable[Evidence],
    options: Options,
    console: Console,
) -> None:
    if options.output_file is None:
        view = View(lambda path: None, color=wants_color(options.color, sys.stdout))
        for piece in render(evidence, view):
            say(sys.stdout, piece)
    else:
        view = View(lambda path: None, color=options.color == "always")
        write_file(options.output_file, "".join(render(evidence, view)), console)


def _summarize(evidence: Sequence[Evidence], device: Device, options: Options, console: Console) -> None:
    more = "" if options.unsafe_fixes else " (unsafe ones are replayed with `--unsafe-fixes`)"
    if evidence:
        console.note(f"Replayed {count(len(evidence), 'finding')} on {device.kind}: {text.totals(evidence)}")
    elif not console.failed:
        console.note(f"No fixes to replay{more}")
    console.detail(f"{device.name} ({device.capability}), PyTorch {device.torch}, {console.elapsed:.2f} s")


def _exit_code(evidence: Sequence[Evidence], failed: bool) -> int:
    verdicts = {one.outcome.verdict for one in evidence}
    if failed or ERROR in verdicts:
        return FAILED
    return FINDINGS if REFUTED in verdicts else CLEAN
