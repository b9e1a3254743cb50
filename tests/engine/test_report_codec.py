"""Reports survive the way into a cache and back; what is no report is noticed."""

from __future__ import annotations

import dataclasses
import json
import os
from contextlib import suppress
from typing import Any

import hypothesis
import pytest
from cached_project import REPORT
from hypothesis import given
from hypothesis import strategies as st

from amplint.diagnostics import Footing
from amplint.engine import report_codec
from amplint.model.caller_contexts import AskedObject, CallManner, ResultElsewhere, Target

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX users, modes and links")


def test_reports_survive_the_way_to_json_and_back() -> None:
    value = json.loads(json.dumps(report_codec.encode_report(REPORT)))
    assert report_codec.decode_report("shown/file.py", value, Footing()) == REPORT


def test_questions_to_callers_survive_it_too() -> None:
    report = dataclasses.replace(
        REPORT, gives=(AskedObject("training.py", "Trainer", "criterion", "torch.nn.BCELoss"),)
    )
    value = json.loads(json.dumps(report_codec.encode_report(report)))
    assert report_codec.decode_report("shown/file.py", value, Footing()) == report


def test_results_of_chosen_objects_survive_it_too() -> None:
    made = Target("loss.py", "Focal", True, given=(("kind", "sum"), ("logits", True), ("block", ("Block",))))
    result = ResultElsewhere(CallManner(made, None, True, ()), (("tensor", "float16", 0.0, 1.0, True, False, False),))
    report = dataclasses.replace(REPORT, gives=(result,))
    value = json.loads(json.dumps(report_codec.encode_report(report)))
    assert report_codec.decode_report("shown/file.py", value, Footing()) == report


def test_reports_are_shown_under_the_path_of_the_new_run() -> None:
    report = report_codec.decode_report("elsewhere.py", report_codec.encode_report(REPORT), Footing())
    assert {report.path, *(one.path for one in report.diagnostics)} == {"elsewhere.py"}
    assert report.diagnostics[0].related[0].path == "other.py"


@pytest.mark.parametrize(
    "value", [None, 3, "x", [], [1], [[], [1]], [[], [["A"]]], [[[]], []], [[], [[1] * 8]], {"a": 1}]
)
def test_what_is_no_report_is_noticed(value: object) -> None:
    with pytest.raises(report_codec.Damaged):
        report_codec.decode_report("f", value, Footing())


# -- where entries lie ----------------------------------------------------------------------------------------------------


@given(st.data())
@hypothesis.settings(max_examples=200, deadline=None)
def test_values_of_other_types_are_noticed(data: st.DataObject) -> None:
    """Whatever a value is replaced by, a report is refused, or is one that every format can show."""
    value = report_codec.encode_report(REPORT)
    within: Any = value
    while True:
        place = data.draw(st.integers(0, len(within) - 1))
        if not isinstance(within[place], list) or not within[place] or data.draw(st.booleans()):
            break
        within = within[place]
    within[place] = data.draw(st.sampled_from([None, True, -1, 10**30, 0.5, float("inf"), "x", [], [1], [[]], {}]))
    with suppress(report_codec.Damaged):
        report = report_codec.decode_report("shown/file.py", value, Footing())
        again = json.loads(json.dumps(report_codec.encode_report(report)))
        assert report_codec.decode_report("shown/file.py", again, Footing()) == report
