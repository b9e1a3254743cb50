"""Evidence as text, JSON and a page; no torch is needed for that."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import jsonschema
import pytest
from checkout import ROOT

from amplint.diagnostics import Applicability, Diagnostic, Edit, Fix
from amplint.report.evidence import page, record, text
from amplint.report.evidence.numbers import shown, summary
from amplint.report.evidence.plot import plot
from amplint.report.view import View
from amplint.runtime.devices import Device
from amplint.runtime.evidence import Evidence
from amplint.runtime.verdict import (
    CONFIRMED,
    ERROR,
    NOT_OBSERVABLE,
    NOT_REPLAYABLE,
    PARTLY,
    REFUTED,
    TEMPLATE,
    VERDICTS,
    Outcome,
)
from amplint.source import Source

SCHEMA = json.loads((ROOT / "docs" / "evidence-schema.json").read_text("utf-8"))
PLAIN = View(lambda path: None)
NORMS = Outcome(
    CONFIRMED,
    "",
    "norm seen by the optimizer",
    {"norm": 1.52588e-05},
    {"norm": 1.0},
    {"max_norm": "1.0", "norm": 1.0},
    {"before": (1.5e-05, 1.6e-05), "after": (1.0, 1.0), "reference": (1.0, 1.0)},
)
STEPS = Outcome(
    REFUTED,
    "the schedule still runs ahead",
    "steps",
    {"optimizer": 5, "scheduler": 6},
    {"optimizer": 5, "scheduler": 6},
    {"optimizer": 5, "scheduler": 5},
)
INFINITE = Outcome(
    CONFIRMED,
    "",
    "value of the loss",
    {"loss": math.inf, "gradient": math.nan, "dtype": "float16"},
    {"loss": 3.5, "gradient": 0.25, "dtype": "float32"},
    {"loss": 3.5},
    {"before": (1.0, math.inf, math.nan, -math.inf), "after": (1.0, 2.0, 3.0, 3.5)},
)


def evidence(outcome: Outcome = NORMS, row: int = 2, code: str = "AMP101", **changes: Any) -> Evidence:
    before = Source("train.py", "a = 1\nclip(g)  # <&>\nstep()\n")
    after = Source("train.py", "a = 1\nunscale()\nclip(g)  # <&>\nstep()\n")
    fix = Fix("Add `unscale()`", (Edit(6, 6, "unscale()\n"),), Applicability.SAFE)
    start = before.offset(row, 0)
    diagnostic = Diagnostic(
        code, "clip-before-unscale", "`g` is <scaled>", before.range(start, start + 4), "why", fix=fix, path="train.py"
    )
    device = Device("cuda-emulated", "Some CPU", "AVX2", "2.13.0+cpu")
    return replace(Evidence(diagnostic, before, after, outcome, device, 7, 0.25), **changes)


HALF = replace(
    NORMS,
    verdict=PARTLY,
    reason="a part of the defect is as it was",
    basis=TEMPLATE,
    remains=("norm seen by the optimizer in iteration 3",),
    assumed=("max_norm 1.0",),
)

# -- text --------------------------------------------------------------------------------------------------------------


def test_what_remains_what_it_rests_on_and_what_was_assumed_are_said_everywhere() -> None:
    one = evidence(HALF)
    said = text.verdict(one)
    assert said.startswith("partly on cuda-emulated: norm")
    shown_page = "".join(page.render([one]))
    for words in ("iteration 3", "template", "assumed: max_norm 1.0"):
        assert words in said and words.lower() in shown_page.lower()
    kept = record.evidence_record(one)
    jsonschema.validate(kept, SCHEMA)
    assert (kept["basis"], kept["remains"], kept["assumed"]) == (
        "template", ["norm seen by the optimizer in iteration 3"], ["max_norm 1.0"],
    )  # fmt: skip


def test_a_confirmed_finding_is_one_line_with_its_numbers() -> None:
    assert text.line(evidence(), PLAIN) == (
        "train.py:2:1: AMP101 confirmed on cuda-emulated: "
        "norm seen by the optimizer 1.53e-05 -> 1.00 (max_norm 1.0, reference 1.00)\n"
    )


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (
            STEPS,
            "refuted on cuda-emulated: steps: optimizer 5 -> 5, scheduler 6 -> 6 "
            "(reference optimizer 5, reference scheduler 5); the schedule still runs ahead",
        ),
        (Outcome(NOT_OBSERVABLE, "only time tells"), "not observable on this device (cuda-emulated): only time tells"),
        (Outcome(NOT_REPLAYABLE, "`erfinv` is not on the list"), "not replayable: `erfinv` is not on the list"),
        (Outcome(ERROR, "RuntimeError: no"), "error: RuntimeError: no"),
    ],
)  # fmt: skip
def test_other_verdicts_say_why(outcome: Outcome, said: str) -> None:
    assert text.verdict(evidence(outcome)) == said


def test_colour_changes_nothing_but_the_colour() -> None:
    colored = text.line(evidence(STEPS), View(lambda path: None, color=True))
    assert colored != text.line(evidence(STEPS), PLAIN)
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == text.line(evidence(STEPS), PLAIN)


def test_the_table_has_a_row_for_each_rule_and_the_verdicts_that_occur() -> None:
    seen = [evidence(), evidence(row=3), evidence(STEPS, code="AMP107"), evidence(Outcome(ERROR, "x"), code="AMP101")]
    assert "".join(text.table(seen, PLAIN)).splitlines() == [
        "                            confirmed  refuted  error",
        "AMP101 clip-before-unscale          2        -      1",
        "AMP107 clip-before-unscale          -        1      -",
    ]
    assert text.totals(seen) == "2 confirmed, 1 refuted, 1 error"


def test_numbers_are_short() -> None:
    values = (1.52588e-05, 1.0, 0.0, -2.5, 65536.0, 1234.5, 7, 123.4, 1.8e6, math.inf, -math.inf, "float16")
    assert [shown(value) for value in values] == [
        "1.53e-05", "1.00", "0", "-2.50", "65536", "1234", "7", "123", "1.80e+06", "inf", "-inf", "float16",
    ]  # fmt: skip
    assert shown(math.nan) == "nan"


def test_what_was_measured_on_one_side_only_is_said() -> None:
    assert summary(Outcome(CONFIRMED, measure="error", before={"error": "E4"})) == "error E4 -> nothing"


# -- JSON --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", [NORMS, STEPS, INFINITE, Outcome(ERROR, "it hung"), Outcome(NOT_REPLAYABLE, "no")])
def test_a_line_of_evidence_follows_the_schema(outcome: Outcome) -> None:
    line = record.line(evidence(outcome))
    assert line.endswith("}\n") and line.count("\n") == 1
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(line))


def test_the_schema_is_one_and_refuses_what_is_none() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    good = record.evidence_record(evidence())
    assert set(SCHEMA["properties"]["verdict"]["enum"]) == set(VERDICTS)
    assert set(SCHEMA["properties"]) == set(SCHEMA["required"]) == set(good)
    for change in (
        {"verdict": "probable"},
        {"verdict": REFUTED},  # without a reason
        {"measured": {**good["measured"], "before": {}}},
        {"seed": -1},
        {"extra": 1},
    ):
        assert not validator.is_valid({**good, **change}), change


def test_values_that_json_lacks_are_strings() -> None:
    measured = record.evidence_record(evidence(INFINITE))["measured"]
    assert measured["before"] == {"loss": "inf", "gradient": "nan", "dtype": "float16"}
    assert measured["series"]["before"] == [1.0, "inf", "nan", "-inf"]


def test_the_diff_is_the_one_of_the_fix() -> None:
    diff = record.evidence_record(evidence())["fix"]["diff"]
    assert [line for line in diff.splitlines() if line[0] in "+-"] == ["--- train.py", "+++ train.py", "+unscale()"]


# -- the page ----------------------------------------------------------------------------------------------------------


class _Checker(HTMLParser):
    """Knows that every element is closed, and what the page would load."""

    _EMPTY = frozenset({"meta", "br", "path", "rect", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href", "data")]
        if tag not in self._EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)


def checked(evidence: list[Evidence]) -> tuple[_Checker, str]:
    html = "".join(page.render(evidence))
    checker = _Checker()
    checker.feed(html)
    assert checker.open == []
    return checker, " ".join(" ".join(checker.text).split())


def test_the_page_is_whole_and_loads_nothing() -> None:
    checker, _ = checked([evidence(), evidence(STEPS, code="AMP107"), evidence(INFINITE, row=3)])
    assert "script" not in checker.tags and "link" not in checker.tags and "img" not in checker.tags
    assert checker.loads == ["#AMP101", "#AMP107", "#AMP107:train.py:2:1"]  # the rules, and what is not confirmed


def test_the_page_shows_diff_numbers_plot_and_circumstances() -> None:
    checker, words = checked([evidence()])
    for part in (
        "g is <scaled>",
        "clip(g) # <&>",
        "+unscale()",
        "1.53e-05",
        "max_norm",
        "Some CPU (AVX2)",
        "2.13.0+cpu",
        "amplint verify PATHS --device cuda-emulated --seed 7",
    ):
        assert part in words, part
    assert checker.tags.count("figure") == 1


def test_the_page_says_the_reason_of_every_other_verdict() -> None:
    _, words = checked([evidence(STEPS), evidence(Outcome(NOT_REPLAYABLE, "`erfinv` is not on the list"), row=3)])
    assert "the schedule still runs ahead" in words and "erfinv is not on the list" in words


def test_a_page_without_findings_says_so() -> None:
    _, words = checked([])
    assert "There was no finding with a fix." in words


# -- plots -------------------------------------------------------------------------------------------------------------


def _heights(svg: str, name: str) -> Iterator[float]:
    """Where the marks of a series lie."""
    if name == "before":
        for y in re.findall(r'<rect class="mark before" x="[\d.]+" y="([\d.]+)"', svg.partition("<figcaption>")[0]):
            yield float(y) + 3.5
    else:
        for y in re.findall(r'<circle class="mark after" cx="[\d.]+" cy="([\d.]+)"', svg.partition("<figcaption>")[0]):
            yield float(y)


def test_a_wide_range_is_shown_on_a_logarithmic_scale() -> None:
    svg = plot({"before": (1e-5, 1e-4), "after": (1.0, 1.0)}, "norm")
    assert "logarithmic" in svg
    (low, high), (top, _) = _heights(svg, "before"), _heights(svg, "after")
    assert low - high == pytest.approx((low - top) / 5, abs=0.2)  # a fifth of the decades


def test_a_narrow_range_is_shown_from_zero() -> None:
    svg = plot({"before": (1.0, 2.0), "after": (4.0, 4.0)}, "steps")
    assert "logarithmic" not in svg
    (one, two), (four, _) = _heights(svg, "before"), _heights(svg, "after")
    assert one - two == pytest.approx((two - four) / 2, abs=0.2)


def test_what_a_scale_cannot_hold_has_a_lane() -> None:
    svg = plot({"before": (0.0, math.inf, math.nan), "after": (1e-6, 1.0, 1e3)}, "value")
    zero, infinite, undefined = _heights(svg, "before")
    assert zero > max(_heights(svg, "after")) + 10
    assert infinite == undefined < min(_heights(svg, "after")) - 10
    assert "inf, nan" in svg


@pytest.mark.parametrize(
    "values", [(0.0, 0.0), (5.0, 5.0), (-1.0, 3.0), (1e300, 1e-300), (math.nan, math.inf), (0.0, 1e-320)]
)
def test_every_pair_of_values_can_be_drawn(values: tuple[float, ...]) -> None:
    svg = plot({"after": values}, "x")
    assert all(0 <= y <= 190 for y in _heights(svg, "after")) and len(list(_heights(svg, "after"))) == 2


def test_one_value_makes_no_plot() -> None:
    assert plot({"before": (1.0,), "after": (2.0,)}, "x") == plot({}, "x") == ""


def test_the_page_lists_what_is_not_confirmed_and_leads_to_it() -> None:
    refuted = evidence(replace(STEPS, verdict=REFUTED, reason="it is worse"), code="AMP107", row=1)
    html = "".join(page.render([evidence(), refuted]))
    _, words = checked([evidence(), refuted])
    assert "Not confirmed: 1 of 2 refuted train.py:1:1 AMP107: it is worse" in words
    targets = re.findall(r'href="#([^"]*)"', html)
    assert len(targets) == 3 and all(f'id="{target}"' in html for target in targets)
    assert "Not confirmed" not in checked([evidence()])[1]


def test_the_page_says_which_other_defect_was_repaired_all_the_time() -> None:
    _, words = checked([evidence(replace(NORMS, together=("AMP104 in line 14",)))])
    assert "With AMP104 in line 14 repaired before and after." in words
