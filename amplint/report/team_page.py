"""All findings of a project on one page of HTML, for a team: by severity, rule, folder and file, and over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from amplint.diagnostics import Diagnostic
from amplint.engine.config_values import SEVERITIES
from amplint.engine.selection import all_rules
from amplint.engine.severity import severity
from amplint.model.records import NamedTuple
from amplint.report.charts import scripts
from amplint.report.history_chart import PastCommit, history_chart, in_words
from amplint.report.markup import escape, opening, prose
from amplint.report.view import View

_TONES = dict(zip(SEVERITIES, ("bad", "other", "")))
_MOST = 2000
"""Findings that are listed."""
_FOLDERS = 40
_BAR = 200
"""Pixels."""


class TeamReport(NamedTuple):
    """What a team wants to know of a project: what it is called, how many files were checked, what was found in them, and
    what at earlier commits, the oldest first."""

    title: str
    checked: int
    findings: Sequence[Diagnostic]
    history: Sequence[PastCommit] = ()


def render(report: TeamReport, view: View) -> Iterator[str]:
    """The page, in pieces.

    Args:
        report: what to show.
        view: tells what can be fixed.
    """
    chart = history_chart(report.history)
    yield opening(f"amplint: {report.title}", scripts() if chart else "")
    yield from _top(report, view)
    if report.history:
        yield from _over_time(report.history, chart)
    if report.findings:
        yield from _rules(report.findings, view)
        yield from _folders(report.findings)
        yield from _places(report.findings, view)
    yield "</body>\n</html>\n"


def _top(report: TeamReport, view: View) -> Iterator[str]:
    counts = Counter(map(severity, report.findings))
    files = len({one.path for one in report.findings})
    fixable = sum(view.applies(one.fix) for one in report.findings)
    tiles = [
        (len(report.findings), _noun("finding", len(report.findings)), "" if report.findings else "good"),
        *((counts[name], _noun(name, counts[name]), _TONES[name] if counts[name] else "") for name in SEVERITIES),
        (files, f"of {report.checked} files", ""),
        (fixable, "fixable with --fix", ""),
    ]
    yield f"<h1>amplint report</h1>\n<p>{escape(report.title)}</p>\n"
    items = "".join(f'<li class="{tone}"><b>{number}</b>{name}</li>' for number, name, tone in tiles)
    yield f'<ul class="totals">{items}</ul>\n'


def _noun(word: str, number: int) -> str:
    return word if number == 1 or word == "info" else f"{word}s"


def _over_time(history: Sequence[PastCommit], chart: str) -> Iterator[str]:
    yield f"<h2>Over time</h2>\n<p>{escape(in_words(history))}</p>\n{chart}"
    rows = (
        [f"<code>{escape(one.commit)}</code> {escape(one.subject)}", one.day, *_numbers(one.counts, "0")]
        for one in reversed(history)
    )
    table = _table(("Commit", "Day", *(name.capitalize() for name in SEVERITIES)), rows)
    yield f"<details><summary>{len(history)} commits</summary>{table}</details>\n"


def _rules(findings: Sequence[Diagnostic], view: View) -> Iterator[str]:
    groups = _most_first(_grouped(findings, lambda one: one.code))
    worst_first = sorted(groups, key=lambda group: SEVERITIES.index(severity(group[1][0])))
    yield "<h2>Rules</h2>\n"
    most = max(len(group) for _, group in groups)
    rows = (
        [
            f'<abbr title="{escape(_summary(code))}"><code>{escape(code)}</code></abbr> {escape(group[0].name)}',
            f'<span class="{_TONES[severity(group[0])]}">{severity(group[0])}</span>',
            str(len(group)), str(sum(view.applies(one.fix) for one in group) or ""), _bar(len(group), most),
        ]
        for code, group in worst_first
    )  # fmt: skip
    yield _table(("Rule", "Severity", "Findings", "Fixable", ""), rows)


def _summary(code: str) -> str:
    rule = all_rules().get(code)
    return rule.summary if rule else code


def _folders(findings: Sequence[Diagnostic]) -> Iterator[str]:
    groups = _most_first(_grouped(findings, lambda one: _folder(one.path)))
    if len(groups) == 1:
        return
    yield "<h2>Folders</h2>\n"
    most = len(groups[0][1])
    rows = []
    for folder, group in groups[:_FOLDERS]:
        counts = Counter(map(severity, group))
        rows.append([f"<code>{escape(folder)}</code>", str(len(group)), *_numbers(counts), _bar(len(group), most)])
    yield _table(("Folder", "Findings", *(name.capitalize() for name in SEVERITIES), ""), rows)
    if len(groups) > _FOLDERS:
        yield f'<p class="note">{len(groups) - _FOLDERS} more folders are not shown.</p>\n'


def _numbers(counts: Mapping[str, int], none: str = "") -> Iterator[str]:
    """The findings of each severity, in words."""
    return (str(counts.get(name, 0) or none) for name in SEVERITIES)


def _folder(path: str) -> str:
    return "/".join(path.replace("\\", "/").split("/")[:-1]) or "."


def _places(findings: Sequence[Diagnostic], view: View) -> Iterator[str]:
    yield "<h2>Findings</h2>\n"
    for path, group in groupby(findings[:_MOST], key=lambda one: one.path):
        rows = []
        for one in group:
            mark = f' <span class="note">{escape(view.mark(one.fix).strip())}</span>'
            tone = _TONES[severity(one)]
            rows.append(
                [
                    escape(str(one.range.start)),
                    f'<span class="{tone}">{escape(one.code)}</span>',
                    prose(one.message) + mark,
                ]
            )
        table = _table((), rows, "listed")
        yield f"<details open><summary><code>{escape(path)}</code> ({len(rows)})</summary>{table}</details>\n"
    if len(findings) > _MOST:
        yield f'<p class="note">{len(findings) - _MOST} more findings are not shown.</p>\n'


def _grouped(findings: Iterable[Diagnostic], key: Callable[[Diagnostic], str]) -> dict[str, list[Diagnostic]]:
    groups: dict[str, list[Diagnostic]] = {}
    for one in findings:
        groups.setdefault(key(one), []).append(one)
    return groups


def _most_first(groups: dict[str, list[Diagnostic]]) -> list[tuple[str, list[Diagnostic]]]:
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def _bar(number: int, most: int) -> str:
    return f'<span class="bar" style="width: {max(2, _BAR * number // most)}px"></span>'


def _table(heads: Iterable[str], rows: Iterable[Sequence[str]], style: str = "counts") -> str:
    """A table, of cells in HTML."""
    head = "".join(f"<th>{one}</th>" for one in heads)
    head = f"<tr>{head}</tr>\n" if head else ""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>\n" for row in rows)
    return f'<div class="scroll"><table class="{style}">{head}{body}</table></div>\n'
