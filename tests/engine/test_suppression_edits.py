"""Suppression comments that are written beside findings."""

from __future__ import annotations

import pytest

from amplint.diagnostics import ALSO, Diagnostic, FileReport, Related
from amplint.engine.selection import names
from amplint.engine.suppression import suppress
from amplint.engine.suppression_edits import suppress_source
from amplint.source import Source

KNOWN = {"AMP101": "clip-before-unscale", "AMP104": "step-bypasses-scaler"}
ACTIVE = frozenset(names(())) | frozenset(KNOWN)


def found(source: Source) -> tuple[Diagnostic, ...]:
    """A finding of AMP101 wherever `clip` stands, of AMP104 wherever `step` does, also as text, less what comments silence."""
    places = [
        (code, at)
        for code, word in (("AMP101", "clip"), ("AMP104", "step"))
        for at in range(len(source.text))
        if source.text.startswith(word, at) and not source.text[at - 1].isidentifier() and source.text[at - 1] != "["
    ]
    diagnostics = [Diagnostic(code, KNOWN[code], "Bad", source.range(at, at), path="a.py") for code, at in places]
    return suppress(source, sorted(diagnostics, key=lambda one: one.sort_key), ACTIVE, KNOWN)


def lint(source: Source) -> FileReport:
    return FileReport("a.py", found(source))


def written(text: str, own: bool = False, reason: str = "") -> str:
    """What becomes of a text; a second time nothing does, and nothing is left to report."""
    outcome = suppress_source(Source("a.py", text), lint, own, reason)
    assert outcome.report.diagnostics == ()
    again = suppress_source(Source("a.py", outcome.text), lint, own, reason)
    assert (again.text, again.applied) == (outcome.text, {})
    return outcome.text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("clip()\n", "clip()  # noqa: AMP101\n"),
        ("clip()", "clip()  # noqa: AMP101"),
        ("clip()   \n", "clip()  # noqa: AMP101\n"),
        ("clip(); step()\n", "clip(); step()  # noqa: AMP101, AMP104\n"),
        ("clip()  # why\n", "clip()  # why  # noqa: AMP101\n"),
        ("clip()  # type: ignore\n", "clip()  # type: ignore  # noqa: AMP101\n"),
        ("clip()  # noqa: E501\n", "clip()  # noqa: E501, AMP101\n"),
        ("clip()  # noqa:E501 it is long\n", "clip()  # noqa:E501, AMP101 it is long\n"),
        ("f(\n    clip(),\n    1,\n)\n", "f(\n    clip(),  # noqa: AMP101\n    1,\n)\n"),
        ("clip(a, \\\n    b)\n", "clip(a, \\\n    b)  # noqa: AMP101\n"),
        ('clip("""a\nb""")\n', 'clip("""a\nb""")  # noqa: AMP101\n'),
        ('x = """a\n""" + f(clip(\n    1))\n', 'x = """a\n""" + f(clip(  # noqa: AMP101\n    1))\n'),
        ('clip(f"""a\n{b(\n1)}""",\n    c)\n', 'clip(f"""a\n{b(\n1)}""",\n    c)  # noqa: AMP101\n'),
        ("@clip\ndef f():\n    step()\n", "@clip  # noqa: AMP101\ndef f():\n    step()  # noqa: AMP104\n"),
        ("if clip():\r\n    step()\r\n", "if clip():  # noqa: AMP101\r\n    step()  # noqa: AMP104\r\n"),
        ("x = 'é'; clip()\n", "x = 'é'; clip()  # noqa: AMP101\n"),
        ("# flake8: noqa: E501\nclip()\n", "# flake8: noqa: E501\nclip()  # noqa: AMP101\n"),
    ],
)
def test_a_noqa_is_written_where_it_counts(before: str, after: str) -> None:
    assert written(before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("clip()\n", "clip()  # amplint: ignore[clip-before-unscale]\n"),
        ("clip()  # noqa: E501\n", "clip()  # noqa: E501  # amplint: ignore[clip-before-unscale]\n"),
        (
            "clip(); step()  # amplint: ignore[step-bypasses-scaler]\n",
            "clip(); step()  # amplint: ignore[step-bypasses-scaler, clip-before-unscale]\n",
        ),
        (
            "# amplint: ignore[AMP104]\nclip(); step()\n",
            "# amplint: ignore[AMP104]\nclip(); step()  # amplint: ignore[clip-before-unscale]\n",
        ),
    ],
)
def test_an_own_comment_names_the_rule(before: str, after: str) -> None:
    assert written(before, own=True) == after


def test_all_places_of_a_finding_are_silenced() -> None:
    text = "clip()\nclip()\n"

    def once(source: Source) -> FileReport:
        start = source.offset(2, 0)
        also = (Related(ALSO, source.range(start, start)),)
        one = Diagnostic("AMP101", KNOWN["AMP101"], "Bad", source.range(0, 0), related=also, path="a.py")
        return FileReport("a.py", suppress(source, [one], ACTIVE, KNOWN))

    outcome = suppress_source(Source("a.py", text), once, own=False)
    assert outcome.text == "clip()  # noqa: AMP101\nclip()  # noqa: AMP101\n"
    assert (outcome.report.diagnostics, outcome.applied) == ((), {"AMP101": 1})


def test_what_the_engine_says_of_comments_is_not_suppressed() -> None:
    text = "x = 1  # noqa: AMP101\n"
    outcome = suppress_source(Source("a.py", text), lint, own=False)
    assert (outcome.text, [one.code for one in outcome.report.diagnostics]) == (text, ["AMP901"])


def test_a_comment_that_the_encoding_lacks_nothing_for_keeps_all_bytes() -> None:
    data = "# coding: latin-1\nx = 'é'\nclip()\n".encode("latin-1")
    source = Source.from_bytes("a.py", data)
    outcome = suppress_source(source, lint, own=False)
    assert source.encode(outcome.text) == data.replace(b"clip()", b"clip()  # noqa: AMP101")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("clip()\n", "clip()  # noqa: AMP101 since the loss is small\n"),
        ("clip()  # noqa: E501\n", "clip()  # noqa: E501, AMP101 since the loss is small\n"),
        ("clip()  # noqa: E501 it is long\n", "clip()  # noqa: E501, AMP101 it is long\n"),
        ("clip()  # noqa: E501  # long\n", "clip()  # noqa: E501, AMP101  # long\n"),
    ],
)
def test_a_reason_follows_the_codes_where_none_does(before: str, after: str) -> None:
    assert written(before, reason="since the loss is small") == after
    assert written("clip()\n", True, "so") == "clip()  # amplint: ignore[clip-before-unscale] so\n"


@pytest.mark.parametrize("reason", ["AMP104 is wrong here", ", AMP104"])
def test_a_reason_is_never_read_as_a_code(reason: str) -> None:
    assert found(Source("a.py", written("clip()\n", reason=reason).replace("clip()", "step()")))
