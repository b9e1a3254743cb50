"""The page of a rule has its headings, and its examples are true."""

from __future__ import annotations

import re

from fixture_harness import lint, rules_for
from rule_pages import HEADINGS, read_page

from amplint.rule import Rule
from amplint.source import Source


def test_headings(rule: Rule) -> None:
    page = read_page(rule.page)
    assert re.fullmatch(r"[^\n]+\.", page.summary), "one summary line, ending in a period, stands before the headings"
    assert tuple(page.sections) == HEADINGS
    assert all(body.strip() for body in page.sections.values())


def test_example_shows_the_defect_once(rule: Rule) -> None:
    [example] = read_page(rule.page).code("Example")
    compile(example, "example", "exec")
    report = lint(Source("example.py", example), rules_for(rule.code))
    assert not report.error
    assert [diagnostic.code for diagnostic in report.diagnostics].count(rule.code) == 1


def test_use_instead_is_silent(rule: Rule) -> None:
    [example] = read_page(rule.page).code("Use instead")
    compile(example, "use_instead", "exec")
    report = lint(Source("use_instead.py", example), rules_for(rule.code))
    assert not report.error
    assert not report.diagnostics
