"""`amplint verify`: replay every fix, and show what was measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from amplint.cli.against import AgainstError, patched_files
from amplint.cli.console import CLEAN, FAILED, FINDINGS, Console, say, wants_color
from amplint.cli.help import SectionedCommand, section
from amplint.cli.ledger import Ledger
from amplint.cli.linting import lint
from amplint.cli.option_groups import REPLAY, REPORTING, RUN, SELECTION, with_options
from amplint.cli.option_values import as_file
from amplint.cli.options import Options
from amplint.cli.proof import fixable_findings, how_to_replay, replays_shown
from amplint.cli.reporting import refuse_to_overwrite, write_file
from amplint.cli.targets import Targets
from amplint.engine.config import ConfigError
from amplint.engine.linter import SYNTAX_ERROR
from amplint.engine.registry import RegistryError, load_rules
from amplint.model.records import NamedTuple
from amplint.report.evidence import record, text
from amplint.report.evidence.text import place
from amplint.report.view import View, count
from amplint.runtime.devices import DeviceError
from amplint.runtime.evidence import Evidence
from amplint.runtime.patch import judge_patch
from amplint.runtime.verdict import ADDED, ERROR, REFUTED
from amplint.runtime.verify import ReplayPlan, verify_findings


def _text(evidence: Iterable[Evidence], view: View, is_patch: bool) -> Iterator[str]:
    """A line as soon as it is known, then those of the files of a patch, then the table."""
    seen: list[Evidence] = []
    for one in evidence:
        seen.append(one)
        yield text.line(one, view)
    if seen and is_patch:
        yield "\n" + "".join(text.files(seen, view))
    if seen:
        yield "\n" + "".join(text.table(seen, view))


def _json(evidence: Iterable[Evidence], view: View, is_patch: bool) -> Iterator[str]:
    known = list(evidence)
    shown = record.comparison(known) if is_patch else [record.evidence_record(one) for one in known]
    yield json.dumps(shown, indent=2, allow_nan=False) + "\n"


def _html(evidence: Iterable[Evidence], view: View, is_patch: bool) -> Iterator[str]:
    from amplint.report.evidence import page

    yield from page.render(list(evidence), is_patch)


_Render = Callable[[Iterable[Evidence], View, bool], Iterator[str]]
FORMATS: dict[str, _Render] = {"text": _text, "json": _json, "html": _html}

_UNSAFE = click.option(
    "--unsafe-fixes", is_flag=True, help="Replay the unsafe fixes, too, and those that are only shown."
)
_TRUST = click.option(
    "--trust",
    is_flag=True,
    help="Run the author's own function where its expression cannot be read: the files' code, and what it imports, is executed.",
)
_AGAINST = click.option(
    "--against",
    metavar="OLD",
    help="Judge what a patch does: the paths against another path, or a git revision of them.",
)
_REPORT = section(
    REPORTING,
    click.option(
        "--output-format", type=click.Choice(list(FORMATS)), default="text", show_default=True, help="The form of the report."
    ),
    click.option("--evidence", metavar="FILE", callback=as_file, help="Write what was measured to a file, as JSON lines."),
)  # fmt: skip


@click.command("verify", short_help="Replay fixes on a device, and say whether they hold.", cls=SectionedCommand)
@click.argument("paths", nargs=-1)
@with_options(*section("What is replayed", _UNSAFE, _AGAINST, _TRUST), *REPLAY, *SELECTION, *_REPORT, *RUN)
def verify(evidence: Path | None, against: str | None, **values: Any) -> int:
    """Replay the fix of every finding on a device, and say whether it holds.

    No code of the files is run, unless --trust says so: real PyTorch objects go through what it does, before the fix and after.
    With --against, it is somebody's patch that is replayed: each finding in OLD, and what has become of it. Exit code: 0 nothing
    was refuted or is new, 1 something was or is, 2 something went wrong. Needs PyTorch: pip install 'amplint[verify]'.
    """
    options = Options(**values)
    console = Console(options.quiet, options.verbose, options.color)
    if against is not None and options.unsafe_fixes:
        raise click.UsageError("`--unsafe-fixes` says nothing with `--against`: every finding is judged, and no fix")
    try:
        run = _Run(options, evidence, console, how_to_replay(options))
        return _verify(run) if against is None else _verify_patch(run, against)
    except (AgainstError, ConfigError, DeviceError, RegistryError) as error:
        console.problem("", str(error))
        return FAILED


class _Run(NamedTuple):
    options: Options
    kept: Path | None
    console: Console
    how: ReplayPlan


def _verify(run: _Run) -> int:
    options, _, console, how = run
    wanted, result = lint(options, console)
    for one in result.diagnostics:
        if one.code == SYNTAX_ERROR:
            console.problem(place(one), one.message)
    shown = {rule.code for rule in load_rules() if rule.observable is not None} if options.unsafe_fixes else ()
    more = "" if options.unsafe_fixes else " (unsafe ones are replayed with `--unsafe-fixes`)"

    def replayed() -> Iterator[Evidence]:
        return verify_findings(fixable_findings(wanted, result, options, shown), how, replays_shown(console))

    return _reported(run, wanted, replayed, False, f"No fixes to replay{more}")


def _verify_patch(run: _Run, against: str) -> int:
    options, _, console, how = run
    with patched_files(options, against, console) as (wanted, files):

        def replayed() -> Iterator[Evidence]:
            return judge_patch(files, how, replays_shown(console))

        return _reported(run, wanted, replayed, True, "No findings on either side")


def _reported(
    run: _Run, wanted: Targets, replayed: Callable[[], Iterator[Evidence]], is_patch: bool, nothing: str
) -> int:
    """Write down what replaying comes to, as it comes; the exit code. `nothing` is said where there is nothing to replay."""
    options, kept, console, how = run
    refuse_to_overwrite(wanted, [("--evidence", kept), ("--output-file", options.output_file)])
    ledger = Ledger(kept, console)
    if not ledger.open():
        return FAILED  # now, not after minutes of work
    evidence: list[Evidence] = []

    def gathered() -> Iterator[Evidence]:
        for one in replayed():
            evidence.append(one)
            ledger.keep(one)
            console.end_progress()
            yield one
        ledger.end()

    with closing(ledger):
        _write(lambda view: FORMATS[options.output_format](gathered(), view, is_patch), options, console)
    if evidence:
        done = "Judged" if is_patch else "Replayed"
        console.note(f"{done} {count(len(evidence), 'finding')} on {how.device.kind}: {text.totals(evidence)}")
    elif not console.failed:
        console.note(nothing)
    console.detail(f"{how.device.name} ({how.device.capability}), PyTorch {how.device.torch}, {console.elapsed:.2f} s")
    return _exit_code(evidence, console.failed)


def _write(rendered: Callable[[View], Iterator[str]], options: Options, console: Console) -> None:
    if options.output_file is None:
        for piece in rendered(View(lambda path: None, color=wants_color(options.color, sys.stdout))):
            say(sys.stdout, piece)
    else:
        view = View(lambda path: None, color=options.color == "always")
        write_file(options.output_file, "".join(rendered(view)), console)


def _exit_code(evidence: Sequence[Evidence], failed: bool) -> int:
    verdicts = {one.outcome.verdict for one in evidence}
    if failed or ERROR in verdicts:
        return FAILED
    return FINDINGS if verdicts & {REFUTED, ADDED} else CLEAN
