"""What each output format makes of the same two findings."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from checkout import ROOT

from amplint.diagnostics import Applicability, Diagnostic, Edit, Fix, Related
from amplint.engine.config_values import OUTPUT_FORMATS
from amplint.report import FORMATS, renderer, statistics
from amplint.report.diff import unified
from amplint.report.view import View
from amplint.source import Source

TEXT = """\
import torch

def train(model, scaler, loss):
\tscaler.scale(loss).backward()
\t# up to here they are scaled

\ttorch.nn.utils.clip_grad_norm_(
\t\tmodel.parameters(), 1.0)
    größe = "日本"; lr.step()
"""
SOURCE = Source("src/train.py", TEXT)
VIEW = View({"src/train.py": SOURCE}.get)


def place(text: str, until: str = "") -> tuple[int, int]:
    start = TEXT.index(text)
    return start, TEXT.index(until, start) + len(until) if until else start + len(text)


def clipped() -> Diagnostic:
    scaled = Related("scaled here", SOURCE.range(*place("scaler.scale(loss).backward()")))
    start = place("torch.nn")[0]
    return Diagnostic(
        "AMP101", "clip-before-unscale", "Gradients are clipped while still scaled: by 100%, too",
        SOURCE.range(*place("torch.nn.utils", ", 1.0)")), "they are 65536 times too large", (scaled,),
        Fix("Insert `scaler.unscale_(optimizer)`", (Edit(start, start, "scaler.unscale_(optimizer)\n\t"),)),
        path="src/train.py",
    )  # fmt: skip


def stepped(trust: Applicability = Applicability.UNSAFE) -> Diagnostic:
    fix = Fix("Remove the call", (Edit(*place("; lr.step()"), ""),), trust)
    return Diagnostic(
        "AMP107",
        "scheduler-not-gated",
        "The schedule moves on",
        SOURCE.range(*place("lr.step()")),
        fix=fix,
        path="src/train.py",
    )


def text(name: str, view: View = VIEW, trust: Applicability = Applicability.UNSAFE) -> str:
    return "".join(renderer(name)([clipped(), stepped(trust)], view))


def test_concise() -> None:
    assert text("concise") == (
        "src/train.py:7:2: AMP101 Gradients are clipped while still scaled: by 100%, too [*]\n"
        "src/train.py:9:19: AMP107 The schedule moves on [unsafe]\n"
    )


def test_marks_tell_what_becomes_of_a_finding() -> None:
    assert text("concise", VIEW._replace(unsafe=True)).splitlines()[1].endswith("moves on [*]")
    assert text("concise", trust=Applicability.DISPLAY).splitlines()[1].endswith("moves on")


def test_full() -> None:
    assert text("full") == (
        "AMP101 error: Gradients are clipped while still scaled: by 100%, too (clip-before-unscale) [*]\n"
        "  --> src/train.py:7:2\n"
        "  3 | def train(model, scaler, loss):\n"
        "  4 |     scaler.scale(loss).backward()\n"
        "    |     ----------------------------- scaled here\n"
        "  5 |     # up to here they are scaled\n"
        "  ...\n"
        "  7 |     torch.nn.utils.clip_grad_norm_(\n"
        "    |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  8 |         model.parameters(), 1.0)\n"
        "  note: they are 65536 times too large\n"
        "  fix: Insert `scaler.unscale_(optimizer)`\n"
        "\n"
        "    +     scaler.unscale_(optimizer)\n"
        "          torch.nn.utils.clip_grad_norm_(\n"
        "\n"
        "AMP107 warning: The schedule moves on (scheduler-not-gated) [unsafe]\n"
        "  --> src/train.py:9:19\n"
        "  8 |         model.parameters(), 1.0)\n"
        '  9 |     größe = "日本"; lr.step()\n'
        "    |                     ^^^^^^^^^\n"
        "  fix: Remove the call (unsafe)\n"
        "              model.parameters(), 1.0)\n"
        '    -     größe = "日本"; lr.step()\n'
        '    +     größe = "日本"\n'
        "\n"
    )


def test_full_without_the_text() -> None:
    assert "".join(renderer("full")([stepped()], View(lambda path: None))) == (
        "AMP107 warning: The schedule moves on (scheduler-not-gated) [unsafe]\n"
        "  --> src/train.py:9:19\n"
        "  fix: Remove the call (unsafe)\n"
        "\n"
    )


def test_full_shows_places_in_other_files() -> None:
    other = Source("src/loop.py", "a()\nb()\n")
    related = (Related("called here", other.range(4, 7), "src/loop.py"),)
    found = Diagnostic(
        "AMP201", "backward-in-autocast", "Bad", SOURCE.range(0, 6), related=related, path="src/train.py"
    )
    shown = "".join(renderer("full")([found], View({"src/loop.py": other, "src/train.py": SOURCE}.get)))
    assert shown == (
        "AMP201 warning: Bad (backward-in-autocast)\n"
        "  --> src/train.py:1:1\n"
        "  1 | import torch\n"
        "    | ^^^^^^\n"
        "  --> src/loop.py:2:1\n"
        "  1 | a()\n"
        "  2 | b()\n"
        "    | --- called here\n"
        "\n"
    )


@pytest.mark.parametrize("size", [0, 1])
def test_full_at_the_end_of_a_file(size: int) -> None:
    source = Source("a.py", "x = (")
    found = Diagnostic("AMP900", "syntax-error", "Bad", source.range(5 - size, 5), path="a.py")
    shown = "".join(renderer("full")([found], View({"a.py": source}.get)))
    assert shown.splitlines()[2:] == ["  1 | x = (", f"    | {' ' * (5 - size)}^", ""]


def test_colours_add_nothing_but_colours() -> None:
    for name in ("concise", "full"):
        colored = text(name, VIEW._replace(color=True))
        assert f"\x1b[1;31mAMP101{' error:' if name == 'full' else ''}\x1b[0m" in colored
        assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == text(name)


def test_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, second = json.loads(text("json"))
    assert first == {
        "category": "scaling",
        "cell": None,
        "code": "AMP101",
        "confidence": "high",
        "end_location": {"row": 8, "column": 27},
        "filename": str(tmp_path / "src" / "train.py"),
        "fix": {
            "applicability": "safe",
            "edits": [
                {
                    "cell": None,
                    "content": "scaler.unscale_(optimizer)\n\t",
                    "end_location": {"row": 7, "column": 2},
                    "location": {"row": 7, "column": 2},
                }
            ],
            "message": "Insert `scaler.unscale_(optimizer)`",
        },
        "location": {"row": 7, "column": 2},
        "message": "Gradients are clipped while still scaled: by 100%, too",
        "name": "clip-before-unscale",
        "no_fix": None,
        "noqa_row": 7,
        "note": "they are 65536 times too large",
        "related": [
            {
                "cell": None,
                "end_location": {"row": 4, "column": 31},
                "filename": str(tmp_path / "src" / "train.py"),
                "location": {"row": 4, "column": 2},
                "message": "scaled here",
            }
        ],
        "severity": "error",
        "since": "0.1.0",
        "url": (ROOT / "rules" / "amp101_clip_before_unscale.py").as_uri(),
    }
    assert (second["fix"]["applicability"], second["related"]) == ("unsafe", [])


def test_json_lines_are_the_items_of_the_array() -> None:
    assert [json.loads(line) for line in text("jsonl").splitlines()] == json.loads(text("json"))


def test_stdin_has_no_absolute_name() -> None:
    found = Diagnostic("AMP900", "syntax-error", "Bad", SOURCE.range(0, 0), path="-")
    assert json.loads("".join(renderer("jsonl")([found], VIEW)))["filename"] == "-"


def test_github() -> None:
    path = "src/train.py"
    assert text("github").splitlines() == [
        f"::error title=amplint (AMP101),file={path},line=7,col=2,endLine=8,endColumn=27"
        f"::{path}:7:2: AMP101 Gradients are clipped while still scaled: by 100%25, too",
        f"::warning title=amplint (AMP107),file={path},line=9,col=19,endLine=9,endColumn=28"
        f"::{path}:9:19: AMP107 The schedule moves on",
    ]


def test_github_escapes_what_would_end_a_property() -> None:
    found = Diagnostic("AMP900", "syntax-error", "a\nb", SOURCE.range(0, 0), path="a,b:c%.py")
    assert "file=a%2Cb%3Ac%25.py,line" in "".join(renderer("github")([found], VIEW))
    assert "".join(renderer("github")([found], VIEW)).endswith("a,b:c%25.py:1:1: AMP900 a\\nb\n")


def test_settings_know_the_formats() -> None:
    assert tuple(FORMATS) == OUTPUT_FORMATS


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_found(name: str) -> None:
    shown = "".join(renderer(name)([], VIEW))
    assert bool(shown) == FORMATS[name].is_document
    assert shown == "[]\n" or name not in ("json", "gitlab")


def test_statistics() -> None:
    found = [stepped(), clipped(), stepped(), stepped(Applicability.SAFE)]
    assert "".join(statistics.render(found, VIEW)) == (
        "3  AMP107  [-] scheduler-not-gated\n1  AMP101  [*] clip-before-unscale\n"
    )
    assert json.loads("".join(statistics.render_json(found, VIEW)))[0] == {
        "count": 3, "code": "AMP107", "name": "scheduler-not-gated", "fixable": 1,
    }  # fmt: skip
    assert "".join(statistics.render([stepped()], VIEW)) == "1  AMP107  scheduler-not-gated\n"


def test_diffs_keep_line_ends_and_say_when_the_last_is_missing() -> None:
    assert list(unified("a\r\nb", "a\r\nc", "x.py")) == [
        "--- x.py\n", "+++ x.py\n", "@@ -1,2 +1,2 @@\n", " a\r\n",
        "-b\n", "\\ No newline at end of file\n", "+c\n", "\\ No newline at end of file\n",
    ]  # fmt: skip
    assert list(unified("a\n", "a\n", "x.py")) == []
