"""What CONTRIBUTING.md tells is so: its code stands in the files that it names, its numbers are those of the tests."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from checkout import ROOT
from fixture_harness import DRESSED
from test_meta import FIXTURES_AT_LEAST, LINES_AT_MOST

from amplint.testing.claims import WORDS_AT_MOST
from amplint.testing.pages import HEADINGS

TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
_LINK_OR_CODE = re.compile(r"\]\((?P<path>[\w./-]+)\)|^```python\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def examples() -> Iterator[tuple[str, str]]:
    """The blocks of code, each with the file that was named last."""
    path = ""
    for match in _LINK_OR_CODE.finditer(TEXT):
        path = match["path"] or path
        if match["code"]:
            yield path, match["code"]


@pytest.mark.parametrize(("path", "code"), list(examples()))
def test_code_is_quoted_as_it_stands(path: str, code: str) -> None:
    assert code in (ROOT / path).read_text("utf-8")


@pytest.mark.parametrize("folder", ["rules/amp1", "rules/amp3"])
def test_a_protocol_rule_and_a_dtype_rule_are_walked_through(folder: str) -> None:
    assert [path for path, _ in examples() if path.startswith(folder)]


@pytest.mark.parametrize(
    ("number", "around"),
    [
        (FIXTURES_AT_LEAST["flagged"], "At least {} of each"),
        (FIXTURES_AT_LEAST["clean"], "At least {} of each"),
        (LINES_AT_MOST, "Python files of at most {} lines"),
        (WORDS_AT_MOST, "at most {} words"),
        (DRESSED, "on the {} longest flagged"),
    ],
)
def test_numbers_are_those_of_the_tests(number: int, around: str) -> None:
    assert re.findall(re.escape(around).replace(r"\{\}", r"(\d+)"), TEXT) == [str(number)]


def test_headings_and_kinds_of_rule_are_all_there() -> None:
    assert tuple(re.findall(r"^    ## (.+)$", TEXT, re.MULTILINE)) == HEADINGS
    kinds = {path.name for path in (ROOT / "scripts" / "rule_templates").iterdir()}
    assert all(f"`{kind}`" in TEXT for kind in kinds) and f"--kind {sorted(kinds)[-1]}" in TEXT
