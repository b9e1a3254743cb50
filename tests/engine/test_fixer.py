"""Fixes are applied whole or not at all, never against each other, never so that the file breaks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from amplint.diagnostics import Applicability, Diagnostic, Edit, FileReport, Fix
from amplint.engine.fixed_text import apply
from amplint.engine.fixer import Lint, fix_source
from amplint.source import Source
from amplint.system import limits

Edits = list[tuple[int, int, str]]
SAFE, UNSAFE, DISPLAY = Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY


def finding(source: Source, code: str, edits: Edits, trust: Applicability = SAFE) -> Diagnostic:
    fix = Fix("Do it", tuple(Edit(*edit) for edit in edits), trust)
    place = source.range(min(0, *(edit[0] for edit in edits)), 0)
    return Diagnostic(code, code.lower(), "Something", place, fix=fix, path=source.path)


def replacing(code: str, pattern: str, better: str, trust: Applicability = SAFE, header: str = "") -> Lint:
    """A linter that finds a pattern and wants it replaced, and `header` put at the top of the file."""

    def lint(source: Source) -> FileReport:
        return FileReport(source.path, tuple(_found(source)))

    def _found(source: Source) -> Iterator[Diagnostic]:
        for match in re.finditer(pattern, source.text):
            edits: Edits = [(match.start(), match.end(), match.expand(better))]
            if header and header not in source.text:
                edits.insert(0, (0, 0, header))
            yield finding(source, code, edits, trust)

    return lint


def both(*lints: Lint) -> Lint:
    return lambda source: FileReport(source.path, tuple(one for lint in lints for one in lint(source).diagnostics))


def text(content: str | bytes) -> Source:
    return Source.from_bytes("file.py", content if isinstance(content, bytes) else content.encode())


# -- one round ----------------------------------------------------------------------------------------------------------


def test_edits_of_several_fixes_are_applied_in_order_of_place() -> None:
    source = text("abcdef")
    wanted = [finding(source, "A", [(4, 5, "E")]), finding(source, "B", [(0, 1, "A"), (2, 2, "-")])]
    new, used = apply(source, wanted)
    assert (new, used) == ("Ab-cdEf", wanted)


@pytest.mark.parametrize(
    "edits", [[(1, 3, "x")], [(3, 3, "x")], [(0, 1, "x"), (5, 6, "y")], [(2, 3, "B")], [(1, 1, "x")]]
)
def test_a_fix_that_overlaps_or_touches_one_before_it_is_left_out_whole(edits: Edits) -> None:
    source = text("abcdef")
    first = finding(source, "A", [(1, 3, "B"), (5, 5, "-")])
    assert apply(source, [first, finding(source, "B", edits)]) == ("aBde-f", [first])


def test_an_insertion_in_common_is_made_once() -> None:
    source = text("a b c")
    header = (0, 0, "import x\n")
    wanted = [finding(source, "A", [header, (0, 0, "")]), finding(source, "A", [header, (2, 3, "B")])]
    assert apply(source, wanted[1:] * 2) == ("import x\na B c", wanted[1:])
    wanted = [finding(source, "A", [header, (2, 3, "B")]), finding(source, "B", [header, (4, 5, "C")])]
    assert apply(source, wanted) == ("import x\na B C", wanted)


def test_equal_statements_that_move_to_one_place_all_get_there() -> None:
    source = text("a  # same\nx\na  # same\nb\n")
    moved = (24, 24, "a  # same\n")
    first, second = (finding(source, "A", [(start, start + 10, ""), moved]) for start in (0, 12))
    assert apply(source, [first, second]) == ("x\nb\na  # same\na  # same\n", [first, second])


def test_what_two_fixes_move_in_the_same_way_is_moved_once() -> None:
    source = text("x\na\nb\nc\n")
    moves = [(0, 0, "a\n"), (2, 4, "")]
    first, second = (finding(source, "A", [*moves, (end, end, "!")]) for end in (5, 7))
    assert apply(source, [first, second]) == ("a\nx\nb!\nc!\n", [first, second])
    assert apply(source, [first, first]) == ("a\nx\nb!\nc\n", [first])


def test_other_insertions_at_the_same_place_wait() -> None:
    source = text("a")
    wanted = [finding(source, "A", [(0, 0, "import x\n")]), finding(source, "B", [(0, 0, "import y\n")])]
    assert apply(source, wanted) == ("import x\na", wanted[:1])


# -- to a fixpoint ------------------------------------------------------------------------------------------------------


def test_fixes_in_each_others_way_are_applied_in_later_rounds() -> None:
    outcome = fix_source(text("f(f(f(1)))\n"), replacing("A", r"f\((f*[\w(]*[^f]*?)\)", r"g(\1)"), False)
    assert "f" not in outcome.text
    assert outcome.applied == Counter(A=3)
    assert outcome.report.diagnostics == ()
    assert outcome.error == ""


def test_only_what_is_trusted_enough_is_applied() -> None:
    lint = both(
        replacing("A", r"\ba\b", "x"), replacing("B", r"\bb\b", "y", UNSAFE), replacing("C", r"\bc\b", "z", DISPLAY)
    )
    safe, unsafe = (fix_source(text("a b c".replace(" ", "\n")), lint, unsafe) for unsafe in (False, True))
    assert (safe.text, safe.applied) == ("x\nb\nc", Counter(A=1))
    assert (unsafe.text, unsafe.applied) == ("x\ny\nc", Counter(A=1, B=1))
    assert [one.code for one in unsafe.report.diagnostics] == ["C"]


def test_nothing_to_fix() -> None:
    outcome = fix_source(text("a\n"), replacing("A", "b", "c"), True)
    assert (outcome.text, outcome.applied, outcome.error) == ("a\n", Counter(), "")
    assert outcome.report == FileReport("file.py")


def test_a_fix_that_breaks_the_file_is_left_out_and_named() -> None:
    lint = both(replacing("GOOD", r"\ba\b", "x"), replacing("BAD", r"\bb\b", "("))
    outcome = fix_source(text("a\nb\na\n"), lint, False)
    assert outcome.text == "x\nb\nx\n"
    assert outcome.applied == Counter(GOOD=2)
    assert outcome.error == "a fix of BAD would break the file and was left out"
    assert [one.code for one in outcome.report.diagnostics] == ["BAD"]


def test_fixes_that_break_the_file_only_together() -> None:
    source = text("if a:\n    b\n    c\n")

    def lint(now: Source) -> FileReport:
        lines = [(one.start(), one.end(), "") for one in re.finditer(r"    [bc]\n", now.text)]
        return FileReport("file.py", tuple(finding(now, f"R{line[0]}", [line]) for line in reversed(lines)))

    outcome = fix_source(source, lint, False)
    assert outcome.text in ("if a:\n    b\n", "if a:\n    c\n")
    assert sum(outcome.applied.values()) == 1
    assert "would break the file" in outcome.error


def test_code_that_parses_but_does_not_compile_is_refused() -> None:
    outcome = fix_source(text("a\n"), replacing("A", r"\ba\b", "return 1"), False)
    assert (outcome.text, outcome.applied) == ("a\n", Counter())
    assert "A" in outcome.error


def test_a_file_that_does_not_compile_to_begin_with_may_be_fixed() -> None:
    outcome = fix_source(text("return a\n"), replacing("A", r"\ba\b", "b"), False)
    assert (outcome.text, outcome.error) == ("return b\n", "")


def test_a_file_that_only_parses_parses_after_fixing() -> None:
    lint = both(replacing("GOOD", r"\ba\b", "x"), replacing("BAD", r"\bb\b", "("))
    outcome = fix_source(text("return a\nb\n"), lint, False)
    assert (outcome.text, outcome.applied) == ("return x\nb\n", Counter(GOOD=1))
    assert outcome.error == "a fix of BAD would break the file and was left out"


@pytest.mark.parametrize("edits", [[(0, 4, "x"), (2, 6, "y")], [(4, 2, "x")], [(0, 99, "x")], [(-3, 0, "x")]])
def test_edits_that_make_no_sense_are_left_out(edits: Edits) -> None:
    outcome = fix_source(text("abcdef\n"), lambda source: FileReport("f", (finding(source, "A", edits),)), False)
    assert (outcome.text, outcome.applied) == ("abcdef\n", Counter())
    assert outcome.error == "a fix of A would break the file and was left out"


@pytest.mark.parametrize(
    "lint",
    [
        both(replacing("A", r"\ba\b", "b"), replacing("B", r"\bb\b", "a")),
        replacing("A", r"^", "a\n"),
        replacing("A", r"\ba\b", "a"),
    ],
    ids=["circle", "growth", "nothing"],
)
def test_fixes_that_never_settle_leave_the_file_alone(lint: Lint) -> None:
    outcome = fix_source(text("a\n"), lint, False)
    assert (outcome.text, outcome.applied) == ("a\n", Counter())
    assert re.fullmatch("the fixes of [AB] never settle; nothing was fixed", outcome.error)
    assert outcome.report == lint(text("a\n"))


def test_rounds_that_get_somewhere_are_kept_though_they_do_not_come_to_an_end() -> None:
    def lint(now: Source) -> FileReport:
        # Every fix rewrites the whole file, so that only one can be applied in a round.
        better = now.text.replace("a", "b", 1)
        return FileReport(
            "f", tuple(finding(now, "A", [(0, len(now.text), better)]) for _ in range(now.text.count("a")))
        )

    outcome = fix_source(text("a\n" * 12), lint, False)
    assert (outcome.text.count("a"), outcome.applied, outcome.error) == (2, Counter(A=10), "")
    assert fix_source(text(outcome.text), lint, False).text == "b\n" * 12


def test_a_linter_that_fails_on_the_fixed_text() -> None:
    def lint(source: Source) -> FileReport:
        return FileReport("f", error="rule A crashed") if "b" in source.text else replacing("A", "a", "b")(source)

    outcome = fix_source(text("a\n"), lint, False)
    assert (outcome.text, outcome.applied, outcome.error) == ("a\n", Counter(), "after the fixes of A: rule A crashed")


def test_a_rule_that_crashes_keeps_the_others_from_nothing() -> None:
    def lint(source: Source) -> FileReport:
        report = replacing("A", "a", "b")(source)
        return FileReport("f", report.diagnostics, error="rule B crashed")

    outcome = fix_source(Source("f", "a\n"), lint, unsafe=False)
    assert (outcome.text, outcome.applied, outcome.error) == ("b\n", Counter(["A"]), "")
    assert outcome.report.error == "rule B crashed"


# -- text as people write it ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"a = 1\r\nold(2)\r\n\tb\r\n",
        b"\xef\xbb\xbfa = 1\nold(2)\n",
        b"# coding: latin-1\ns = '\xe9\xe4'\nold(2)\n",
        b"if x:\n\told(2)\n\n\ty = 1",
        b"\x0cold(2)\n\x0c\nz = '\x1c \xc2\x85 \xe2\x80\xa8'\n",
        b"a = 1\r\nb = '''\n'''\r\nold(2)\r\n",
        b"old(2)",
        b"a = 1\rold(2)\r",
    ],
    ids=["crlf", "bom", "latin-1", "tabs", "form feed", "mixed", "no final newline", "cr"],
)
def test_untouched_bytes_stay(data: bytes) -> None:
    source = text(data)
    outcome = fix_source(source, replacing("A", r"old\(", "new("), False)
    assert outcome.applied == Counter(A=1)
    assert source.encode(outcome.text) == data.replace(b"old(", b"new(")


def test_inserted_lines_end_like_the_others() -> None:
    source = text(b"a\r\nold\r\n")
    outcome = fix_source(source, replacing("A", "old", "new", header="import x\n"), False)
    assert source.encode(outcome.text) == b"import x\r\na\r\nnew\r\n"


def test_a_character_that_the_encoding_lacks() -> None:
    source = text(b"# coding: latin-1\nold('\xe9')\n")
    outcome = fix_source(source, replacing("A", "old", "neu\u0142"), False)
    assert (outcome.text, outcome.applied) == (source.text, Counter())
    assert outcome.error == "the fixes of A need 'ł', which iso-8859-1 lacks; nothing was fixed"


@pytest.mark.parametrize("encoding", ["unicode_escape", "mac_arabic", "utf-7"])
def test_an_encoding_that_would_write_other_bytes(encoding: str) -> None:
    spelt_otherwise = b"+AG8-ld(1)" if encoding == "utf-7" else b"old(1)"
    source = text(f"# coding: {encoding}\n".encode() + spelt_otherwise + b"\n")
    outcome = fix_source(source, replacing("A", "old", "new"), False)
    assert (outcome.text, outcome.applied) == (source.text, Counter())
    assert outcome.error == f"its text cannot be written back in {source.encoding} byte for byte; nothing was fixed"


def test_an_encoding_that_lacks_long_words() -> None:
    source = text(b"# coding: idna\nold(1)\n")
    outcome = fix_source(source, replacing("A", "old", "n" * 80), False)
    assert (outcome.text, outcome.applied) == (source.text, Counter())
    assert outcome.error == "its text cannot be written back in idna byte for byte; nothing was fixed"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("seconds", "memory"), [(0.3, 900_000_000), (60.0, 100_000_000)], ids=["time", "memory"])
def test_what_looks_at_fixes_is_held_to_the_limits(
    monkeypatch: pytest.MonkeyPatch, seconds: float, memory: int
) -> None:
    classes = 20_000 if seconds < 1 else 6_000
    source = Source("file.py", "old = 1\n" + "".join(f"class A{at}: pass\n" for at in range(classes)))
    monkeypatch.setattr(limits, "SECONDS", seconds)
    monkeypatch.setattr(limits, "MEMORY", memory)
    outcome = fix_source(source, replacing("A", "old", "new"), unsafe=False)
    if seconds < 1:
        assert outcome.error == "fixing took more than 0.3 s; nothing was fixed"
        assert (outcome.text, len(outcome.report.diagnostics)) == (source.text, 1)
    else:
        assert (outcome.error, outcome.text[:3]) == ("", "new")
