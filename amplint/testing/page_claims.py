"""What is claimed of the page of every rule: it has its headings, and its examples are true."""

from __future__ import annotations

import re

from amplint.rule import Rule
from amplint.source import Source
from amplint.testing.fixtures import lint_alone, rules_for
from amplint.testing.pages import HEADINGS, read_page


def page_has_its_headings(rule: Rule) -> None:
    page = read_page(rule.page)
    assert re.fullmatch(r"[^\n]+\.", page.summary), "one summary line, ending in a period, stands before the headings"
    assert tuple(page.sections) == HEADINGS
    assert all(body.strip() for body in page.sections.values())


def example_shows_the_defect_once(rule: Rule) -> None:
    [example] = read_page(rule.page).code("Example")
    compile(example, "example", "exec")
    report = lint_alone(Source("example.py", example), rules_for(rule.code))
    assert not report.error
    assert [diagnostic.code for diagnostic in report.diagnostics].count(rule.code) == 1


def use_instead_is_silent(rule: Rule) -> None:
    [example] = read_page(rule.page).code("Use instead")
    compile(example, "use_instead", "exec")
    report = lint_alone(Source("use_instead.py", example), rules_for(rule.code))
    assert not report.error
    assert not report.diagnostics
