"""What a traced run leaves behind: a file of steps, a page, and a report on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from amplint.cli.console import Console, say
from amplint.cli.ledger import Ledger
from amplint.cli.linting import findings_by_row
from amplint.cli.live_line import LiveLine
from amplint.cli.reporting import write_file
from amplint.engine.registry import load_rules
from amplint.report.trace import page, text
from amplint.report.trace.json_rows import run_row, step_row
from amplint.system.reading import shown_path
from amplint.tracing.ranks import rank_of_several
from amplint.tracing.step_record import StepRecord
from amplint.tracing.trace_record import SeenDefect, TraceRecord

if TYPE_CHECKING:
    from amplint.runtime.recording.judge import SeenHazard


class NoOutput(Exception):
    """What is wanted cannot be written; the message is one line."""


class TraceOutputs:
    """Takes the steps of a run as they come, and the whole run at its end; those of a process that the program forks are none.

    Attributes:
        live: shows the steps on a terminal.

    Args:
        output: the file of steps; None where none is wanted.
        html: the page; None where none is wanted.
        console: hears of what cannot be written.
        quiet: nothing is said on standard error.

    Raises:
        NoOutput: a file cannot be written, or the library that draws charts is not there.
    """

    def __init__(self, output: Path | None, html: Path | None, console: Console, quiet: bool) -> None:
        if html is not None and find_spec("bokeh") is None:
            raise NoOutput("a page needs bokeh: pip install 'amplint[trace]'")
        self._html, self._console, self._quiet = _of_rank(html), console, quiet
        self._process = os.getpid()
        self.live = LiveLine(quiet or bool(rank_of_several()))
        self._ledger = Ledger(_of_rank(output), console)
        if not self._ledger.open():
            raise NoOutput("")  # the console has heard why: now, not after hours of training

    def keep(self, step: StepRecord) -> None:
        """Write a step."""
        if os.getpid() != self._process:
            return
        self._ledger.keep_line(step_row(step))
        self.live.show(step)

    def finish(self, record: TraceRecord) -> None:
        """Write the whole run."""
        if os.getpid() != self._process:
            return
        self._ledger.keep_line(run_row(record))
        self.close()
        if self._html is not None:
            write_file(self._html, "".join(page.render(record)), self._console)
        if not self._quiet:
            say(sys.stderr, "".join(f"{line}\n" for line in text.render(record)))

    def close(self) -> None:
        """Let go of the file of steps."""
        self._ledger.close()


def _of_rank(path: Path | None) -> Path | None:
    """Where this process writes: beside the others, where there are several."""
    rank = rank_of_several()
    return path.with_name(f"{path.stem}.rank{rank}{path.suffix}") if path is not None and rank else path


def seen_defects(hazards: Sequence[tuple[SeenHazard, tuple[int, ...]]]) -> list[SeenDefect]:
    """What was seen, with the words of the linter for the same code at the same line, where it has any."""
    rules = {rule.name: rule for rule in load_rules()}
    read = findings_by_row({each.place.file for each, _ in hazards}, ("ALL",))
    found = []
    for each, steps in hazards:
        rule = rules[each.kind]
        said = read.get((rule.code, os.path.realpath(each.place.file), each.place.line))
        message = said.message if said is not None else rule.summary
        place = f"{shown_path(each.place.file)}:{each.place.line}"
        found.append(
            SeenDefect(rule.code, rule.name, place, message, each.times, min(steps, default=0), steps, said is not None)
        )
    return found
