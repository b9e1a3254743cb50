"""Suppression comments: what they silence, which of them are called unused, and what removing those leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplint.diagnostics import Diagnostic
from amplint.engine.checker import check_bytes
from amplint.engine.config import Settings
from amplint.engine.selection import names
from amplint.engine.suppression import suppress
from amplint.report.diff import applied
from amplint.source import Source

KNOWN = {"AMP101": "clip-before-unscale", "AMP104": "step-bypasses-scaler", "AMP201": "backward-in-autocast"}
ALL = frozenset(names(())) | frozenset(KNOWN)


def run(text: str, *places: tuple[str, int], active: frozenset[str] = ALL) -> list[tuple[str, int]]:
    """The codes and rows that remain when there is a finding of each code on each row."""
    return [(one.code, one.range.start.row) for one in diagnostics(text, *places, active=active)]


def diagnostics(text: str, *places: tuple[str, int], active: frozenset[str] = ALL) -> tuple[Diagnostic, ...]:
    source = Source("train.py", text)
    found = []
    for code, row in places:
        start = source.offset(row, 0)
        found.append(
            Diagnostic(code, KNOWN.get(code, "syntax-error"), "Bad", source.range(start, start), path="train.py")
        )
    return suppress(source, found, active, KNOWN)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA",
        "# noqa: AMP101",
        "# noqa:AMP101",
        "# noqa : E501,AMP101",
        "# noqa: E501 AMP101 since the loop is special",
        "# noqa: amp101",
        "# type: ignore  # noqa: AMP101",
        "# amplint: ignore",
        "# amplint:ignore[AMP101]",
        "# amplint: ignore [ AMP101 , clip-before-unscale ]",
        "# amplint: ignore[clip-before-unscale]",
        "# amplint: ignore[AMP1]",
        "# amplint: ignore[ALL]",
    ],
)
def test_a_comment_behind_the_code_silences_its_line(comment: str) -> None:
    assert ("AMP101", 1) not in run(f"clip()  {comment}\nclip()\n", ("AMP101", 1), ("AMP101", 2))
    assert ("AMP101", 2) in run(f"clip()  {comment}\nclip()\n", ("AMP101", 1), ("AMP101", 2))


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: E501",
        "# noqa: AMP104",
        "# amplint: ignore[AMP104]",
        "# amplint: ignore[]",
        "# noqax",
        "# flake8: noqa",
        "# x noqa",
    ],
)
def test_a_comment_that_speaks_of_something_else_does_not(comment: str) -> None:
    assert ("AMP101", 1) in run(f"clip()  {comment}\n", ("AMP101", 1))


def test_a_comment_in_a_string_is_none() -> None:
    assert run('x = "# noqa"; clip()\n"""\n# amplint: file-ignore\n"""\n', ("AMP101", 1)) == [("AMP101", 1)]


@pytest.mark.parametrize("row", [1, 4])
def test_the_first_and_the_last_row_speak_for_a_statement_of_many_rows(row: int) -> None:
    lines = ["clip(", "    a,", "    b,", ")"]
    lines[row - 1] += "  # amplint: ignore[AMP101]"
    assert run("\n".join(lines) + "\n", ("AMP101", 2)) == []


def test_a_row_within_a_statement_speaks_for_itself() -> None:
    text = "f(\n    clip(),  # noqa: AMP101\n    clip(),\n)\n"
    assert run(text, ("AMP101", 2), ("AMP101", 3)) == [("AMP101", 3)]


def test_the_header_of_a_block_does_not_speak_for_its_body() -> None:
    assert run("with a:  # noqa: AMP101\n    clip()\n", ("AMP101", 1), ("AMP101", 2)) == [("AMP101", 2)]


@pytest.mark.parametrize("between", ["", "\n", "# another comment\n\n"])
def test_a_comment_alone_on_its_row_speaks_of_the_next_statement(between: str) -> None:
    text = f"if a:\n    # amplint: ignore[AMP101]\n{between}    clip(\n        b)\n    clip()\n"
    row = 3 + between.count("\n")
    assert run(text, ("AMP101", row), ("AMP101", row + 1), ("AMP101", row + 2)) == [("AMP101", row + 2)]


def test_decorators_belong_to_what_they_decorate() -> None:
    text = "# amplint: ignore[AMP201]\n@first\n@second(\n    1)\ndef f():\n    pass\n"
    assert run(text, ("AMP201", 4)) == []
    assert run(text, ("AMP201", 5)) == []
    assert ("AMP201", 6) in run(text, ("AMP201", 5), ("AMP201", 6))


def test_noqa_alone_on_its_row_speaks_of_nothing_as_in_flake8() -> None:
    assert run("# noqa\nclip()\n", ("AMP101", 2)) == [("AMP101", 2)]


@pytest.mark.parametrize("row", [1, 3, 5])
def test_file_ignore_speaks_of_the_whole_file(row: int) -> None:
    lines = ["import a", "", "", "clip()", ""]
    lines[row - 1] = "# amplint: file-ignore[AMP101]"
    assert run("\n".join(lines) + "\n", ("AMP101", 4), ("AMP104", 2)) == [("AMP104", 2)]
    lines[row - 1] = "# amplint: file-ignore"
    assert run("\n".join(lines) + "\n", ("AMP101", 4), ("AMP104", 2)) == []


@pytest.mark.parametrize("tool", ["flake8", "ruff"])
@pytest.mark.parametrize("row", [1, 3, 5])
def test_what_flake8_and_ruff_are_told_of_a_file_holds_here(tool: str, row: int) -> None:
    lines = ["import a", "", "", "clip()", ""]
    for said in ("noqa", "noqa - generated", "NOQA", "noqa: AMP1, AMP104"):
        lines[row - 1] = f"#{tool}: {said}"
        assert run("\n".join(lines) + "\n", ("AMP101", 4), ("AMP104", 2)) == []
    lines[row - 1] = f"# {tool}: noqa: E501, AMP101 for now"
    assert run("\n".join(lines) + "\n", ("AMP101", 4), ("AMP104", 2)) == [("AMP104", 2)]
    lines[row - 1] = f"# {tool}: noqa: E501"
    assert run("\n".join(lines) + "\n", ("AMP101", 4)) == [("AMP101", 4)]


@pytest.mark.parametrize("comment", ["# pylint: noqa", "# of flake8: noqa", "# flake8: noqax"])
def test_what_is_said_to_others_or_in_prose_does_not(comment: str) -> None:
    assert run(f"{comment}\nclip()\n", ("AMP101", 2)) == [("AMP101", 2)]


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_every_line_end_ends_a_line(end: str) -> None:
    text = end.join(["a", "clip()  # noqa: AMP101", "clip()", ""])
    assert run(text, ("AMP101", 2), ("AMP101", 3)) == [("AMP101", 3)]


def test_comments_before_a_syntax_error_hold() -> None:
    text = "# amplint: file-ignore[AMP900]\ndef (:\n"
    assert run(text, ("AMP900", 2)) == []
    assert run("x = 1  # noqa: AMP101\ndef (:\n", ("AMP900", 2)) == [("AMP900", 2)], (
        "nothing was checked: nothing is unused"
    )


# -- AMP901 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message", "fixed"),
    [
        ("x  # noqa: AMP101\n", "Suppression of `AMP101` is not used", "x\n"),
        ("x  # noqa: AMP101", "Suppression of `AMP101` is not used", "x"),
        ("x  # noqa: AMP101, E501\n", "Suppression of `AMP101` is not used", "x  # noqa: E501\n"),
        ("x  # noqa: E501,AMP101\n", "Suppression of `AMP101` is not used", "x  # noqa: E501\n"),
        ("x  # noqa: AMP101,E501,AMP104\n", "Suppression of `AMP101`, `AMP104` is not used", "x  # noqa: E501\n"),
        ("x  # noqa: AMP101,AMP104,E501\n", "Suppression of `AMP101`, `AMP104` is not used", "x  # noqa: E501\n"),
        ("x  # noqa: AMP101 it is so\n", "Suppression of `AMP101` is not used", "x  # it is so\n"),
        ("x  # noqa: AMP101 - it is so\n", "Suppression of `AMP101` is not used", "x  # it is so\n"),
        ("x  # noqa: AMP101  # type: ignore\n", "Suppression of `AMP101` is not used", "x  # type: ignore\n"),
        ("x  # type: ignore  # noqa: AMP101\n", "Suppression of `AMP101` is not used", "x  # type: ignore\n"),
        ("x  # a # noqa: AMP101 # b\n", "Suppression of `AMP101` is not used", "x  # a # b\n"),
        ("x  # amplint: ignore\n", "Suppression is not used", "x\n"),
        ("# amplint: ignore[AMP101]\nx\n", "Suppression of `AMP101` is not used", "x\n"),
        ("    # amplint: ignore[AMP101]\r\nx\r\n", "Suppression of `AMP101` is not used", "x\r\n"),
        ("# amplint: file-ignore[clip-before-unscale]\nx\n", "Suppression of `clip-before-unscale` is not used", "x\n"),
        ("# noqa: AMP101\nx\n", "Suppression of `AMP101` is not used", "x\n"),
        ("# flake8: noqa: AMP101\nx\n", "Suppression of `AMP101` is not used", "x\n"),
        ("# ruff: noqa: AMP101, E501\nx\n", "Suppression of `AMP101` is not used", "# ruff: noqa: E501\nx\n"),
        ("x\n# amplint: ignore[AMP101]", "Suppression of `AMP101` is not used", "x\n"),
    ],
)
def test_what_is_unused_is_said_and_removed(line: str, message: str, fixed: str) -> None:
    (found,) = diagnostics(line)
    assert (found.code, found.name, found.message) == ("AMP901", "unused-suppression", message)
    assert found.fix is not None
    assert applied(line, found.fix.edits) == fixed
    assert [one.code for one in diagnostics(fixed)] == []


def test_a_code_that_is_used_stays() -> None:
    text = "clip()  # noqa: AMP101, AMP104\n"
    (found,) = diagnostics(text, ("AMP101", 1))
    assert found.fix is not None
    assert applied(text, found.fix.edits) == "clip()  # noqa: AMP101\n"


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: E501",
        "# noqa: E501, F401",
        "# noqa: AMPLE1",
        "# flake8: noqa",
        "# amplint: file-ignore",
        "# about amplint: great",
    ],
)
def test_what_is_never_called_unused(comment: str) -> None:
    assert run(f"x  {comment}\n") == []


def test_what_was_not_looked_for_is_not_called_unused() -> None:
    assert run("x  # noqa: AMP101\n", active=frozenset({"AMP104", "AMP901"})) == []
    assert run("x  # amplint: ignore[AMP1]\n", active=frozenset({"AMP104", "AMP901"})) == []
    assert run("x  # noqa: AMP101\n", active=frozenset({"AMP101"})) == [], "AMP901 itself was not asked for"


def test_a_finding_about_a_comment_can_be_suppressed_by_its_code() -> None:
    assert run("x  # noqa: AMP101, AMP901\n") == []
    assert run("# amplint: file-ignore[AMP901]\nx  # noqa: AMP101\n") == []
    assert run("x  # noqa  # amplint: ignore[AMP101]\n") == []


# -- AMP902 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# noqa: AMP777", "Suppression of unknown rule `AMP777`"),
        ("# amplint: ignore[E501]", "Suppression of unknown rule `E501`"),
        (
            "# amplint: ignore[clip-befor-unscale]",
            "Suppression of unknown rule `clip-befor-unscale`; did you mean `clip-before-unscale`?",
        ),
        ("# amplint: ignore[]", "Suppression names no rule"),
        ("# amplint: ignore[AMP101", "Suppression without a closing bracket"),
        ("# amplint: ignore AMP101", "Suppression names its rules without brackets"),
        ("# amplint: ignroe[AMP101]", "Suppression with unknown action `ignroe`; did you mean `ignore`?"),
        ("# amplint: disable=AMP101", "Suppression with unknown action `disable`; did you mean `ignore[...]`?"),
        ("# amplint: skip clip-before-unscale", "Suppression with unknown action `skip`; did you mean `ignore[...]`?"),
        ("# noqa: clip-before-unscale", "Suppression of everything: `noqa` takes codes behind a colon, and no names"),
        ("# noqa AMP101", "Suppression of everything: "),
        ("# noqa: AMP", "Suppression of everything: "),
        ("# noqa: AMP1O1", "Suppression of everything: "),
        ("# flake8: noqa: AMP101", "Suppression of a whole file stands on a line of its own"),
        ("# amplint: fileignore", "Suppression with unknown action `fileignore`; did you mean `file-ignore`?"),
    ],
)
def test_what_names_no_rule(comment: str, message: str) -> None:
    (found,) = diagnostics(f"x  {comment}\n")
    assert (found.code, found.name) == ("AMP902", "unknown-suppression")
    assert found.message.startswith(message)
    assert found.fix is None


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: E501",
        "# noqa E501",
        "# noqa: amp is off here",
        "# noqa: all",
        "# noqa ALL",
        "# noqa  # AMP101 is meant",
        "# noqa since the region ends before-unscale",
        "# amplint: what it says of this is true",
        "# amplint: AMP is off here",
    ],
)
def test_prose_is_left_alone(comment: str) -> None:
    assert diagnostics(f"x  {comment}\n") == ()


def test_a_prefix_counts_for_all_of_its_codes() -> None:
    assert run("x  # noqa: AMP1\n", ("AMP101", 1), ("AMP104", 1), ("AMP201", 1)) == [("AMP201", 1)]
    assert run("x  # noqa: AMP1\n") == [("AMP901", 1)]
    assert run("x  # amplint: ignore[amp1, Backward-In-Autocast]\n", ("AMP101", 1), ("AMP201", 1)) == []


def test_a_prefix_is_judged_by_the_rules_that_are_on_by_default() -> None:
    text = "import torch.amp\nx = 1  # noqa: AMP1\ny = 1  # noqa: AMP101, AMP2\nz = 1  # noqa: AMP124\n"

    def told(settings: Settings) -> list[str]:
        report = check_bytes("train.py", text.encode(), settings, Path("train.py"))
        return [diagnostic.message for diagnostic in report.diagnostics]

    prefixes = ["Suppression of `AMP1` is not used", "Suppression of `AMP101`, `AMP2` is not used"]
    assert told(Settings(Path())) == prefixes
    assert told(Settings(Path(), extend_select=("AMP124",))) == [*prefixes, "Suppression of `AMP124` is not used"]
    assert told(Settings(Path(), select=("AMP101", "AMP901"))) == ["Suppression of `AMP101` is not used"]


def test_places_are_those_of_the_words() -> None:
    (found,) = diagnostics("x  # noqa: E501, AMP777\n")
    assert (found.range.start.column, found.range.end.column) == (18, 24)
