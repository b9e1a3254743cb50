"""The harness reads marks strictly, and dresses a file without changing the program."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest
from fixture_harness import DRESSED, dressed, fixtures_of

from amplint.source import Source
from amplint.testing import Fixture
from amplint.testing.checks import CLAIMS, CLAIMS_ABOUT_FINDINGS
from amplint.testing.claims import hold_claims
from amplint.testing.dresses import TABS, WINDOWS, WRAPPED, Variant
from amplint.testing.fix_claims import complaints, lost_comments
from amplint.testing.fixtures import Marked, read_marks

PLAIN = Source("x.py", "def f(x):\n    if x:\n        return 'ä'\n")


def test_marks_are_read() -> None:
    text = (
        "a  # expect: AMP101 safe, AMP104 none\nb  # todo: AMP101, AMP301 (in a helper)\nc  # x # todo-clean: AMP107\n"
    )
    marks = read_marks(text)
    assert marks.expect == Counter([Marked(1, "AMP101", "safe"), Marked(1, "AMP104", "none")])
    assert marks.todo == {(2, "AMP101"), (2, "AMP301")}
    assert marks.todo_clean == {(3, "AMP107")}


def test_a_mark_in_a_string_is_none() -> None:
    assert not read_marks("a = '# expect: AMP101 safe'\n").expect


@pytest.mark.parametrize(
    "mark",
    [
        "expect: AMP101",
        "expect: AMP101 sure",
        "expect: AMP1 safe",
        "todo: AMP101 safe",
        "todo-clean:",
        "expect: AMP101 safe AMP104 none",
    ],
)
def test_a_mark_that_is_not_understood_is_an_error(mark: str) -> None:
    with pytest.raises(ValueError, match="row 2"):
        read_marks(f"a\nb  # {mark}\n")


@pytest.mark.parametrize("variant", [WINDOWS, TABS], ids=str)
def test_a_dress_keeps_the_program(variant: Variant) -> None:
    source = variant.of(PLAIN)
    assert ast.dump(ast.parse(source.text)) == ast.dump(ast.parse(PLAIN.text))
    assert source.line(1 + variant.rows) == "def f(x):"


def test_the_dresses_differ_as_they_say() -> None:
    windows, tabs, wrapped = (variant.of(PLAIN) for variant in (WINDOWS, TABS, WRAPPED))
    assert windows.bom and windows.newline == "\r\n" and windows.text.count("\n") == windows.text.count("\r\n")
    assert tabs.encoding == "iso-8859-1" and not tabs.text.endswith("\n") and tabs.indent(5) == "\t\t"
    assert wrapped.line(2) == "    def f(x):"


def test_a_lost_comment_is_noticed() -> None:
    assert lost_comments("a  # one\nb  # one\n", "a  # one\nb\n") == ["# one"]
    assert lost_comments("a  # one\n", "# two\nb\na  # one\n") == []


def test_unbound_and_idle_names_are_noticed() -> None:
    source = Source("x.py", "import torch\ntorch.x\n")
    assert complaints(source, "import torch\ntorch.x(scaler)\n") == Counter([("UndefinedName", "scaler")])
    assert complaints(source, "import torch\nimport os\ntorch.x()\n") == Counter([("UnusedImport", "os")])


def test_every_claim_that_does_not_hold_is_named() -> None:
    fixture = next(each for each in fixtures_of("AMP101") if each.fixed_path.exists())
    hold_claims(fixture, (*CLAIMS, *CLAIMS_ABOUT_FINDINGS))
    unmarked = Fixture(fixture.path.with_name("flagged_unmarked.py"))
    vars(unmarked)["source"] = Source(fixture.source.path, fixture.source.text.replace("# expect", "# expected"))
    with pytest.raises(AssertionError) as raised:
        hold_claims(unmarked, (*CLAIMS, *CLAIMS_ABOUT_FINDINGS))
    named = re.findall(r"^(\w+): ", str(raised.value), re.MULTILINE)
    assert named == ["findings_are_those_marked", "a_fixture_is_what_its_name_says", "fixes_make_the_fixed_file"]


def test_few_fixtures_of_each_rule_are_put_in_every_dress() -> None:
    for code in {fixture.code for fixture in fixtures_of()}:
        assert 0 < len(dressed(code)) <= DRESSED and all(each.flagged for each in dressed(code))
