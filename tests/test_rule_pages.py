"""The page of a rule has its headings, and its examples are true."""

from __future__ import annotations

from amplint.rule import Rule
from amplint.testing import page_claims


def test_headings(rule: Rule) -> None:
    page_claims.page_has_its_headings(rule)


def test_example_shows_the_defect_once(rule: Rule) -> None:
    page_claims.example_shows_the_defect_once(rule)


def test_use_instead_is_silent(rule: Rule) -> None:
    page_claims.use_instead_is_silent(rule)
