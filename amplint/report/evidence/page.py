"""Evidence as one page of HTML that needs nothing but itself: no scripts, nothing from outside, readable offline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from amplint import __version__
from amplint.diagnostics import Applicability, Diagnostic
from amplint.report import diff
from amplint.report.evidence.numbers import as_written, shown
from amplint.report.evidence.plot import plot
from amplint.report.evidence.text import COLUMNS, assumptions, basis, by_file, by_rule, company, place, remainder
from amplint.report.evidence.wording import FIXES, MEANINGS, METHOD, PATCH
from amplint.report.markup import escape, opening, prose
from amplint.runtime.devices import EMULATED
from amplint.runtime.evidence import Evidence
from amplint.runtime.verdict import (
    ADDED,
    CONFIRMED,
    ERROR,
    REFUTED,
    VERDICTS,
    Outcome,
    verdict_of_file,
)

_TONES = {
    CONFIRMED: ("good", "\N{CHECK MARK}"),
    REFUTED: ("bad", "\N{BALLOT X}"),
    ADDED: ("bad", "+"),
    ERROR: ("bad", "!"),
}
_OTHER = ("other", "\N{EN DASH}")

_WIDE = 16
"""Characters from which on what stands in a table is broken into lines."""
_SHORT = 25
"""As many items as a list has at most that is shown unasked."""


def render(evidence: Sequence[Evidence], is_patch: bool = False) -> Iterator[str]:
    """The page, in pieces; findings of one rule stand together.

    Args:
        evidence: all of a run.
        is_patch: whether it is on somebody's patch, and not on fixes of amplint's own.
    """
    yield opening("amplint evidence")
    ordered = sorted(evidence, key=lambda one: (one.diagnostic.code, one.diagnostic.sort_key))
    yield from _opening(ordered, is_patch)
    for (code, name), group in groupby(ordered, key=lambda one: (one.diagnostic.code, one.diagnostic.name)):
        yield from _rule(code, name, list(group))
    yield "</body>\n</html>\n"


# -- the top of the page ----------------------------------------------------------------------------------------------


def _opening(evidence: Sequence[Evidence], is_patch: bool) -> Iterator[str]:
    counts = Counter(one.outcome.verdict for one in evidence)
    yield PATCH if is_patch else FIXES
    if not evidence:
        yield "<p>There was nothing to replay.</p>\n"
        return
    if is_patch:
        yield _files(evidence)
    reached = [one for one in VERDICTS if counts[one] or one in (CONFIRMED, REFUTED)]
    tiles = (f'<li class="{_tone(one, counts[one])}"><b>{counts[one]}</b>{one}</li>' for one in reached)
    yield f'<ul class="totals">{"".join(tiles)}</ul>\n'
    yield _circumstances(evidence)
    meanings = "".join(f"<dt>{one}</dt><dd>{MEANINGS[one]}</dd>" for one in reached)
    yield f"<details><summary>What the verdicts mean</summary><dl>{meanings}</dl></details>\n"
    yield f"<details><summary>How it was measured</summary>{METHOD}</details>\n"
    yield _table(evidence, reached)
    yield _unproved(evidence)


def _files(evidence: Sequence[Evidence]) -> str:
    """A row for each file that a patch is about, with the verdict on the whole."""
    rows = []
    for path, counts in by_file(evidence).items():
        whole = verdict_of_file(counts.elements())
        each = ", ".join(f"{counts[one]} {one}" for one in VERDICTS if counts[one])
        rows.append(f'<tr><td>{escape(path)}</td><td class="{_tone(whole)}">{whole}</td><td>{each}</td></tr>')
    head = "<tr><th>File</th><th>Verdict</th><th>Findings</th></tr>"
    return f'<div class="scroll"><table>{head}{"".join(rows)}</table></div>\n'


def _tone(verdict: str, count: int = 1) -> str:
    return _TONES.get(verdict, _OTHER)[0] if count else "quiet"


def _circumstances(evidence: Sequence[Evidence]) -> str:
    device, seed = evidence[0].device, evidence[0].seed
    fixes = [one.diagnostic.fix for one in evidence if not one.patched]
    unsafe = " --unsafe-fixes" if any(fix and fix.applicability is Applicability.UNSAFE for fix in fixes) else ""
    against = " --against OLD" if evidence[0].patched else ""
    kind = f"{device.kind}: CPU tensors under CUDA's autocast table" if device.kind == EMULATED else device.kind
    facts = {
        "Device": kind,
        "Hardware": f"{device.name} ({device.capability})",
        "PyTorch": device.torch,
        "amplint": __version__,
        "To repeat it": f"amplint verify PATHS{against} --device {device.kind} --seed {seed}{unsafe}",
    }
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts.items()) + "</dl>\n"


def _table(evidence: Sequence[Evidence], reached: Sequence[str]) -> str:
    heads = "".join(f"<th>{COLUMNS.get(one, one)}</th>" for one in reached)
    rows = []
    for (code, name), counts in by_rule(evidence).items():
        cells = "".join(
            f'<td class="{_tone(one)}">{counts[one]}</td>' if counts[one] else '<td class="quiet">\N{EN DASH}</td>'
            for one in reached
        )
        link = f'<a href="#{escape(code)}">{escape(code)}</a> {escape(name)}'
        rows.append(f"<tr><td>{link}</td>{cells}</tr>")
    return f'<div class="scroll"><table><tr><th>Rule</th>{heads}</tr>{"".join(rows)}</table></div>\n'


def _unproved(evidence: Sequence[Evidence]) -> str:
    """What a reader who doubts looks for first: every finding without proof, and why."""
    items = [
        f'<li><span class="{_tone(one.outcome.verdict)}">{one.outcome.verdict}</span> <a href="#{_anchor(one)}">'
        f"{escape(place(one.diagnostic))}</a> {escape(one.diagnostic.code)}: {prose(one.outcome.reason)}</li>"
        for one in sorted(evidence, key=lambda one: one.outcome.verdict not in (REFUTED, ERROR))
        if one.outcome.verdict != CONFIRMED
    ]
    opened = " open" if len(items) <= _SHORT else ""
    title = f"Not confirmed: {len(items)} of {len(evidence)}"
    return f"<details{opened}><summary>{title}</summary><ul>{''.join(items)}</ul></details>\n" if items else ""


def _anchor(evidence: Evidence) -> str:
    return f"{escape(evidence.diagnostic.code)}:{escape(place(evidence.diagnostic))}"


# -- one finding ------------------------------------------------------------------------------------------------------


def _rule(code: str, name: str, evidence: Sequence[Evidence]) -> Iterator[str]:
    counts = Counter(one.outcome.verdict for one in evidence)
    tally = ", ".join(f"{counts[one]} {one}" for one in VERDICTS if counts[one])
    yield f'<section id="{escape(code)}">\n<h2>{escape(f"{code} {name}")}<small>{tally}</small></h2>\n'
    for one in evidence:
        yield _article(one)
    yield "</section>\n"


def _article(evidence: Evidence) -> str:
    diagnostic, outcome = evidence.diagnostic, evidence.outcome
    tone, sign = _TONES.get(outcome.verdict, _OTHER)
    reason = f'<p class="{tone}">{prose(outcome.reason)}</p>' if outcome.reason else ""
    said = remainder(outcome), basis(outcome), assumptions(outcome), company(outcome)
    reason += "".join(f'<p class="note">{prose(one[0].upper() + one[1:])}.</p>' for one in said if one)
    numbers = _numbers(outcome) + plot(outcome.series, outcome.measure, outcome.axis)
    sides = "sides" if numbers else "sides wide"
    return (
        f'<article id="{_anchor(evidence)}" class="{tone}"><span class="badge {tone}">{sign} {outcome.verdict}</span>'
        f'<h3 class="place">{escape(place(diagnostic))}</h3>\n{_words(diagnostic)}{reason}\n'
        f'<div class="{sides}"><div>{_fix(evidence)}</div>{f"<div>{numbers}</div>" if numbers else ""}</div></article>\n'
    )


def _words(diagnostic: Diagnostic) -> str:
    note = f'<br><span class="note">{prose(diagnostic.note)}</span>' if diagnostic.note else ""
    return f"<p>{prose(diagnostic.message)}{note}</p>"


def _fix(evidence: Evidence) -> str:
    fix, path = evidence.diagnostic.fix, evidence.patched or evidence.diagnostic.path
    changed = list(diff.unified(evidence.before.text, evidence.after.text, path))[2:]
    lines = "".join(
        f'<span class="{diff.style(one)}">{escape(one.rstrip()) or " "}</span>' for one in _outdented(changed)
    )
    if evidence.patched or fix is None:
        return f"<div>What became of it in {escape(path)}</div><pre>{lines}</pre>"
    return f'<div>{prose(fix.title)} <span class="quiet">({fix.applicability.value} fix)</span></div><pre>{lines}</pre>'


def _outdented(changed: Sequence[str]) -> list[str]:
    """The lines of a diff without the indentation that all of its code has in common, for which a page has no room."""
    code = [one for one in changed if one[0] in " +-" and one[1:].strip()]
    common = min((len(one[1:]) - len(one[1:].lstrip(" \t")) for one in code), default=0)
    return [one if one[0] in "@\\" else one[0] + one[1 + common :] for one in changed]


def _numbers(outcome: Outcome) -> str:
    keys = list(dict.fromkeys((*outcome.before, *outcome.after, *outcome.reference)))
    if not keys:
        return ""
    rows = []
    for key in keys:
        given = key not in outcome.before and key not in outcome.after
        cells = "".join(
            _cell((as_written if given else shown)(values[key]) if key in values else "")
            for values in (outcome.before, outcome.after, outcome.reference)
        )
        rows.append(f"<tr><td>{escape(key)}</td>{cells}</tr>")
    what = "measured" if outcome.measure in keys else outcome.measure
    head = f"<th>{escape(what)}</th><th>before</th><th>after</th><th>reference</th>"
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _cell(text: str) -> str:
    return f'<td class="long">{prose(text)}</td>' if len(text) > _WIDE else f"<td>{escape(text)}</td>"
