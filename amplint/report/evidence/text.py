"""Evidence for people at a terminal: a line for each finding, a table of the rules, a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from amplint.diagnostics import Diagnostic
from amplint.report.escape import printable
from amplint.report.evidence.numbers import summary
from amplint.report.view import View
from amplint.runtime.evidence import Evidence
from amplint.runtime.verdict import (
    CONFIRMED,
    ERROR,
    NOT_OBSERVABLE,
    NOT_REPLAYABLE,
    PARTLY,
    REFUTED,
    TEMPLATE,
    VERDICTS,
    Outcome,
)

_STYLES = {CONFIRMED: "added", REFUTED: "removed", ERROR: "removed"}
COLUMNS = {NOT_OBSERVABLE: "not observable"}  # short for a heading


def place(diagnostic: Diagnostic) -> str:
    """Where a finding stands, as `path:row:column`."""
    start = diagnostic.range.start
    return f"{diagnostic.path}:{start}"


def verdict(evidence: Evidence) -> str:
    """The verdict on a fix, the device it was obtained on, and what it rests on."""
    outcome, device = evidence.outcome, evidence.device.kind
    if outcome.verdict in (NOT_REPLAYABLE, ERROR):
        return f"{outcome.verdict}: {outcome.reason}"
    if outcome.verdict == NOT_OBSERVABLE:
        return f"{outcome.verdict} ({device}): {outcome.reason}"
    reason = outcome.reason if outcome.verdict in (REFUTED, PARTLY) else ""
    said = summary(outcome), reason, remainder(outcome), basis(outcome), assumptions(outcome), company(outcome)
    return f"{outcome.verdict} on {device}: " + "; ".join(filter(None, said))


def basis(outcome: Outcome) -> str:
    """What was run, where it was not the author's steps or expression; empty where it was."""
    return "shown by a template, not by the code itself" if outcome.basis == TEMPLATE else ""


def remainder(outcome: Outcome) -> str:
    """What of the defect is left, in words; empty where nothing is."""
    return f"what remains: {', '.join(outcome.remains)}" if outcome.remains else ""


def assumptions(outcome: Outcome) -> str:
    """What the code does not give, and what it was taken to be; empty where nothing was."""
    return f"assumed: {', '.join(outcome.assumed)}" if outcome.assumed else ""


def company(outcome: Outcome) -> str:
    """What else was repaired all the time, in words; empty where nothing was."""
    return f"with {', '.join(outcome.together)} repaired before and after" if outcome.together else ""


def line(evidence: Evidence, view: View) -> str:
    """One finding, and what its replay came to.

    Args:
        evidence: what was measured.
        view: how it is to be shown.
    """
    outcome, diagnostic = evidence.outcome, evidence.diagnostic
    said = printable(verdict(evidence))
    painted = view.paint(outcome.verdict, _STYLES.get(outcome.verdict, "quiet")) + said[len(outcome.verdict) :]
    return f"{view.paint(place(diagnostic), 'bold')}: {view.paint(diagnostic.code, 'code')} {painted}\n"


def by_rule(evidence: Iterable[Evidence]) -> dict[tuple[str, str], Counter[str]]:
    """How often each rule, by code and name, came to which verdict."""
    counts: dict[tuple[str, str], Counter[str]] = {}
    for one in evidence:
        rule = (one.diagnostic.code, one.diagnostic.name)
        counts.setdefault(rule, Counter())[one.outcome.verdict] += 1
    return dict(sorted(counts.items()))


def table(evidence: Sequence[Evidence], view: View) -> Iterator[str]:
    """A row for each rule, a column for each verdict that was reached.

    Args:
        evidence: all of a run.
        view: how it is to be shown.
    """
    counts = by_rule(evidence)
    reached = [one for one in VERDICTS if one == CONFIRMED or any(row[one] for row in counts.values())]
    headings = [COLUMNS.get(one, one) for one in reached]
    width = max((len(f"{code} {name}") for code, name in counts), default=0)
    yield " " * width + "".join(f"  {heading}" for heading in headings) + "\n"
    for (code, name), row in counts.items():
        cells = "".join(f"  {row[one] or '-':>{len(heading)}}" for one, heading in zip(reached, headings))
        yield f"{view.paint(code, 'code')} {name:{width - len(code) - 1}}{cells}\n"


def totals(evidence: Iterable[Evidence]) -> str:
    """How often each verdict was reached, such as `3 confirmed, 1 not replayable`."""
    counts = Counter(one.outcome.verdict for one in evidence)
    return ", ".join(f"{counts[one]} {COLUMNS.get(one, one)}" for one in VERDICTS if counts[one])
