"""Evidence as one page of HTML that needs nothing but itself: no scripts, nothing from outside, readable offline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby

from amplint import __version__
from amplint.diagnostics import Applicability, Diagnostic
from amplint.report import diff
from amplint.report.evidence.markup import escape
from amplint.report.evidence.numbers import as_written, shown
from amplint.report.evidence.plot import plot
from amplint.report.evidence.text import COLUMNS, assumptions, basis, by_rule, company, place, remainder
from amplint.runtime.devices import EMULATED
from amplint.runtime.evidence import Evidence
from amplint.runtime.verdict import CONFIRMED, ERROR, NOT_OBSERVABLE, NOT_REPLAYABLE, PARTLY, REFUTED, VERDICTS, Outcome

_TONES = {CONFIRMED: ("good", "\N{CHECK MARK}"), REFUTED: ("bad", "\N{BALLOT X}"), ERROR: ("bad", "!")}
_OTHER = ("other", "\N{EN DASH}")

_MEANINGS = {
    CONFIRMED: "the defect was measured before the fix, is gone after it, and nothing else was found to have changed",
    PARTLY: "some of the defect is gone after the fix; what remains is named",
    REFUTED: "the measurement contradicts the finding or its fix",
    NOT_OBSERVABLE: "what the finding is about shows on another kind of device only",
    NOT_REPLAYABLE: "the code does something that amplint cannot replay; the reason says what",
    ERROR: "the replay itself failed, so that nothing is known",
}

_METHOD = (
    "<p>The steps of the code that have to do with mixed precision (forward, scale, backward, unscale, clip, step, update,"
    " schedule) are taken in the order of the code, along a path that shows the defect, for several iterations, by real"
    " PyTorch optimizers, scalers and schedulers with the literals of the code. Instead of the model there are two small"
    " layers with seeded weights and batches. In one iteration a gradient is made to overflow, which a scaler has to"
    " skip: it is no point of a plot of norms. <b>Before</b> is the code as it stands; <b>after</b> is the text with the fix,"
    " read anew; <b>reference</b> is the same training in float32 without a scaler, each step taken once and right. A fix is"
    " confirmed when after agrees with reference and before does not. Other rules measure an object or an expression by"
    " itself; what was measured stands beside each finding.</p>"
)
_WIDE = 16
"""Characters from which on what stands in a table is broken into lines."""
_SHORT = 25
"""As many items as a list has at most that is shown unasked."""


def render(evidence: Sequence[Evidence]) -> Iterator[str]:
    """The page, in pieces; findings of one rule stand together."""
    style = files(__package__).joinpath("page.css").read_text("utf-8")
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>amplint evidence</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
    )
    ordered = sorted(evidence, key=lambda one: (one.diagnostic.code, one.diagnostic.sort_key))
    yield from _opening(ordered)
    for (code, name), group in groupby(ordered, key=lambda one: (one.diagnostic.code, one.diagnostic.name)):
        yield from _rule(code, name, list(group))
    yield "</body>\n</html>\n"


# -- the top of the page ----------------------------------------------------------------------------------------------


def _opening(evidence: Sequence[Evidence]) -> Iterator[str]:
    counts = Counter(one.outcome.verdict for one in evidence)
    yield (
        "<h1>Do the fixes hold?</h1>\n<p>Each finding that amplint can replay was replayed twice: with the code as it"
        " stands, and with the fix of that finding applied. Real PyTorch objects and small seeded data take the place of"
        " the author's; the author's code itself was not run.</p>\n"
    )
    if not evidence:
        yield "<p>There was no finding with a fix.</p>\n"
        return
    reached = [one for one in VERDICTS if counts[one] or one in (CONFIRMED, REFUTED)]
    tiles = (f'<li class="{_tone(one, counts[one])}"><b>{counts[one]}</b>{one}</li>' for one in reached)
    yield f'<ul class="totals">{"".join(tiles)}</ul>\n'
    yield _circumstances(evidence)
    meanings = "".join(f"<dt>{one}</dt><dd>{_MEANINGS[one]}</dd>" for one in reached)
    yield f"<details><summary>What the verdicts mean</summary><dl>{meanings}</dl></details>\n"
    yield f"<details><summary>How it was measured</summary>{_METHOD}</details>\n"
    yield _table(evidence, reached)
    yield _unproved(evidence)


def _tone(verdict: str, count: int = 1) -> str:
    return _TONES.get(verdict, _OTHER)[0] if count else "quiet"


def _circumstances(evidence: Sequence[Evidence]) -> str:
    device, seed = evidence[0].device, evidence[0].seed
    fixes = [one.diagnostic.fix for one in evidence]
    unsafe = " --unsafe-fixes" if any(fix and fix.applicability is Applicability.UNSAFE for fix in fixes) else ""
    kind = f"{device.kind}: CPU tensors under CUDA's autocast table" if device.kind == EMULATED else device.kind
    facts = {
        "Device": kind,
        "Hardware": f"{device.name} ({device.capability})",
        "PyTorch": device.torch,
        "amplint": __version__,
        "To repeat it": f"amplint verify PATHS --device {device.kind} --seed {seed}{unsafe}",
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
        f"{escape(place(one.diagnostic))}</a> {escape(one.diagnostic.code)}: {_prose(one.outcome.reason)}</li>"
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
    reason = f'<p class="{tone}">{_prose(outcome.reason)}</p>' if outcome.reason else ""
    said = remainder(outcome), basis(outcome), assumptions(outcome), company(outcome)
    reason += "".join(f'<p class="note">{_prose(one[0].upper() + one[1:])}.</p>' for one in said if one)
    numbers = _numbers(outcome) + plot(outcome.series, outcome.measure, outcome.axis)
    sides = "sides" if numbers else "sides wide"
    return (
        f'<article id="{_anchor(evidence)}" class="{tone}"><span class="badge {tone}">{sign} {outcome.verdict}</span>'
        f'<h3 class="place">{escape(place(diagnostic))}</h3>\n{_words(diagnostic)}{reason}\n'
        f'<div class="{sides}"><div>{_fix(evidence)}</div>{f"<div>{numbers}</div>" if numbers else ""}</div></article>\n'
    )


def _words(diagnostic: Diagnostic) -> str:
    note = f'<br><span class="note">{_prose(diagnostic.note)}</span>' if diagnostic.note else ""
    return f"<p>{_prose(diagnostic.message)}{note}</p>"


def _fix(evidence: Evidence) -> str:
    fix = evidence.diagnostic.fix
    assert fix is not None, "only findings with a fix are replayed"
    changed = list(diff.unified(evidence.before.text, evidence.after.text, evidence.diagnostic.path))[2:]
    lines = "".join(
        f'<span class="{diff.style(one)}">{escape(one.rstrip()) or " "}</span>' for one in _outdented(changed)
    )
    return (
        f'<div>{_prose(fix.title)} <span class="quiet">({fix.applicability.value} fix)</span></div><pre>{lines}</pre>'
    )


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
    return f'<td class="long">{_prose(text)}</td>' if len(text) > _WIDE else f"<td>{escape(text)}</td>"


def _prose(text: str) -> str:
    """Running text, with what stands between backticks as code."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
