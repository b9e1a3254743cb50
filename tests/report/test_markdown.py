"""The report in Markdown: what people read at the end of a job."""

from __future__ import annotations

from amplint.diagnostics import Diagnostic, Fix
from amplint.report import markdown
from amplint.report.view import View
from amplint.source import Source

VIEW = View(lambda path: None)
PLACE = Source("", "abc").range(0, 3)


def rendered(*diagnostics: Diagnostic) -> str:
    return "".join(markdown.render(diagnostics, VIEW))


def finding(message: str, path: str = "a.py", code: str = "AMP101", fix: Fix | None = None) -> Diagnostic:
    return Diagnostic(code, "clip-before-unscale", message, PLACE, path=path, fix=fix)


def test_rules_first_then_places() -> None:
    text = rendered(finding("One", fix=Fix("Do", ())), finding("Two", code="AMP404"), finding("Three", path="b.py"))
    lines = text.splitlines()
    assert lines[0] == "## amplint: 3 findings in 2 files"
    assert lines[4] == "| AMP101 clip-before-unscale | error | 2 | 1 |"
    assert lines[5].endswith("| info | 1 |  |")
    assert lines[9] == "| a.py:1:1 | AMP101 | One \\[\\*\\] |"


def test_what_files_say_stays_text_in_its_cell() -> None:
    text = rendered(finding("`a|b` is <b>bold</b> *really* | here", path="x|<img src=q>`.py"))
    row = text.splitlines()[-1]
    assert row == (
        r"| x\|\<img src=q\>\`.py:1:1 | AMP101 | <code>a&#124;b</code> is \<b\>bold\</b\> \*really\* \| here |"
    )
    assert r"\`a is odd" in rendered(finding("`a is odd"))


def test_nothing_found() -> None:
    assert rendered() == "## amplint: no findings\n"


def test_a_long_list_is_cut() -> None:
    text = rendered(*[finding("One")] * 700)
    assert text.count("| a.py:1:1 |") == 500 and text.endswith("\n200 more are not listed.\n")
