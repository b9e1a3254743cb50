"""A finding without a fix says why, and the reason is the one that holds for its code."""

from __future__ import annotations

import pytest
from fixture_harness import FIXTURES

from amplint.testing import Fixture

OTHER_TIMES = "the optimizer does not step whenever this line runs"
SHARED = "the number is also used where nothing shows whether it may change"


@pytest.mark.parametrize(
    ("code", "shape", "reasons"),
    [
        ("AMP101", "accumulation_clip_every_microbatch", {OTHER_TIMES}),
        ("AMP101", "flag_twice_scaler_only_with_amp", {"AMP may be off here, and the scaler None"}),
        ("AMP301", "power_base", {"with `.float()` on the operand the gradient would overflow all the same"}),
        ("AMP301", "exp_inplace", {"an in-place form keeps the dtype of the tensor"}),
        ("AMP301", "narrowed_result", {"only you can say whether the result has to be float16"}),
        ("AMP305", "no_dimension", {"the dimension is not written out here"}),
        ("AMP305", "sum_over_all", {"the dimension is not written out here"}),
        ("AMP305", "reused", {"what is between the two steps may be used elsewhere"}),
        ("AMP401", "attention", {"the number of attention heads has to divide the size"}),
        ("AMP401", "constant_used_elsewhere", {SHARED}),
        ("AMP402", "vocabulary_used_elsewhere", {SHARED}),
        ("AMP402", "channels_of_another_layer", {SHARED}),
        (
            "AMP402",
            "concatenated_channels",
            {"the model concatenates or splits channels, and their sum would have to change, too"},
        ),
    ],
)
def test_the_reason_is_the_one_that_holds(code: str, shape: str, reasons: set[str]) -> None:
    [path] = FIXTURES.glob(f"{code.lower()}_*/flagged_{shape}.py")
    found = [each for each in Fixture(path).report.diagnostics if each.code == code]
    assert {each.no_fix for each in found if each.fix is None} == reasons
