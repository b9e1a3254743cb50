"""A summary in Markdown, as a job of GitHub or GitLab shows it: what was found by rule, then where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from amplint.diagnostics import Diagnostic
from amplint.engine.config_values import SEVERITIES
from amplint.engine.rule_pages import published_page
from amplint.engine.severity import severity
from amplint.report.escape import printable
from amplint.report.view import View, count

_MOST = 500
"""Findings that are listed: GitHub takes a summary of a mebibyte and no more."""
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+!|~&@])")


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """A heading, a table of the rules, and a table of the findings."""
    if not diagnostics:
        yield "## amplint: no findings\n"
        return
    files = len({one.path for one in diagnostics})
    yield f"## amplint: {count(len(diagnostics), 'finding')} in {count(files, 'file')}\n\n"
    yield "| rule | severity | findings | fixable |\n|---|---|---:|---:|\n"
    for rows in _by_rule(diagnostics):
        first, fixable = rows[0], sum(view.applies(one.fix) for one in rows)
        yield f"| {_rule(first)} | {severity(first)} | {len(rows)} | {fixable or ''} |\n"
    yield "\n| place | code | finding |\n|---|---|---|\n"
    for one in islice(diagnostics, _MOST):
        place = _escaped(f"{one.path}:{one.range.start}")
        yield f"| {place} | {_escaped(one.code)} | {_prose(one.message)}{_escaped(view.mark(one.fix))} |\n"
    if len(diagnostics) > _MOST:
        yield f"\n{len(diagnostics) - _MOST} more are not listed.\n"


def _by_rule(diagnostics: Sequence[Diagnostic]) -> list[list[Diagnostic]]:
    """The findings of each rule: the worst rules first, of those the most frequent."""
    counts = Counter(one.code for one in diagnostics)
    rules = [[one for one in diagnostics if one.code == code] for code in counts]
    return sorted(rules, key=lambda rows: (SEVERITIES.index(severity(rows[0])), -len(rows), rows[0].code))


def _rule(one: Diagnostic) -> str:
    address = published_page(one.code)
    name = _escaped(f"{one.code} {one.name}")
    return f"[{name}]({address})" if address else name


def _escaped(text: str) -> str:
    """A text of others as nothing but text, in one cell of a table."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def _prose(text: str) -> str:
    """A message, with what stands between backticks as code."""
    parts = printable(text).split("`")
    if len(parts) % 2 == 0:
        return _escaped(text)
    return "".join(
        f"<code>{_in_html(part)}</code>" if index % 2 else _escaped(part) for index, part in enumerate(parts)
    )


def _in_html(code: str) -> str:
    """Code inside an element, where a backtick or a bar of its own can end neither the code nor the cell."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", code)
