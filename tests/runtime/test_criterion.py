"""The five questions come to the verdicts that docs/verify.md promises."""

from __future__ import annotations

import time

import pytest

from amplint.runtime.changes import changes
from amplint.runtime.criterion import Observation, Question, judge
from amplint.runtime.verdict import CONFIRMED, NOT_OBSERVABLE, NOT_REPLAYABLE, PARTLY, REFUTED, Outcome

SHOWN = Outcome("", measure="norm")
GONE = Observation(Question.GONE, "norm", False, True)
LEFT = Observation(Question.GONE, "norm", False, False, "iteration 2")
WORSE = Observation(Question.GONE, "norm", False, False, "iteration 2", same=False)
UNSEEN = Observation(Question.GONE, "norm", True, True)


@pytest.mark.parametrize(
    ("observed", "verdict"),
    [
        ([], NOT_REPLAYABLE),
        ([Observation(Question.MEANT, "it", True, False)], REFUTED),
        ([Observation(Question.MEANT, "it", False, False, same=False)], NOT_REPLAYABLE),
        ([GONE], CONFIRMED),
        ([GONE, LEFT], PARTLY),
        ([LEFT], REFUTED),
        ([GONE, WORSE], REFUTED),
        ([UNSEEN], NOT_OBSERVABLE),
        *[([GONE, Observation(each, "it", True, False)], REFUTED) for each in Question],
        ([GONE, Observation(Question.MEANT, "it", False, False, same=False)], REFUTED),
        ([GONE, Observation(Question.MEANT, "it", False, False, same=True)], NOT_REPLAYABLE),
        ([GONE, Observation(Question.LOST, "it", False, False)], CONFIRMED),
    ],
)
def test_observations_come_to_a_verdict(observed: list[Observation], verdict: str) -> None:
    assert judge(observed, SHOWN).verdict == verdict


def test_what_remains_is_named() -> None:
    assert judge([GONE, LEFT], SHOWN).remains == ("norm (iteration 2)",)


def test_what_the_evidence_does_not_speak_of_keeps_a_fix_from_being_confirmed_and_not_from_being_refuted() -> None:
    outcome = judge([GONE], SHOWN, beyond=("log(x)",))
    assert (outcome.verdict, outcome.reason) == (NOT_REPLAYABLE, "the change does more than is replayed: `log(x)`")
    assert judge([LEFT], SHOWN, beyond=("log(x)",)).verdict == REFUTED


def test_another_defect_excuses_what_is_wrong_and_nothing_that_is_lost() -> None:
    assert judge([LEFT], SHOWN, others=("other",)).verdict == NOT_REPLAYABLE
    astray = Observation(Question.MEANT, "what another optimizer takes", False, False)
    assert judge([GONE, astray], SHOWN, others=("other",)).others == ("other",), "else its fix is not tried as well"
    lost = Observation(Question.LOST, "autocast", True, False)
    assert judge([GONE, lost], SHOWN, others=("other",)).verdict == REFUTED


LOCAL = "def work(a):\n    out = f(a)\n    g(out)\n    return out\n"
BRANCHES = (
    "def work(a):\n    if a:\n        out = f(1)\n        g(out)\n    else:\n        out = f(2)\n        h(out)\n"
)
CLOSURE = "def work(a):\n    out = f(a)\n    return lambda: g(out)\n"


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        ("f(1)  # a\n", "f( 1 )\n", []),
        ("f(1)\n", "f(2)\n", ["f(2)"]),
        ("f()\ng()\n", "g()\n", ["f()"]),
        ("if a:\n    f()\n", "if a and b:\n    f()\n", ["if a and b:"]),
        ("f()\ng()\nh()\n", "g()\nif a:\n    f()\nh()\n", ["f()", "if a:"]),
        (LOCAL, LOCAL.replace("out", "found"), []),
        (BRANCHES, BRANCHES.replace("out = f(1)\n        g(out)", "found = f(1)\n        g(found)"), []),
        (LOCAL, LOCAL.replace("out =", "found ="), ["g(out)", "return out"]),
        (LOCAL, LOCAL.replace("out", "a"), ["a = f(a)", "g(a)", "return a"]),
        (BRANCHES + "    h(out)\n", BRANCHES.replace("out = f(1)", "found = f(1)") + "    h(out)\n", ["found = f(1)"]),
        (CLOSURE, CLOSURE.replace("out", "found"), ["found = f(a)", "return lambda: g(found)"]),
    ],
)
def test_statements_that_differ_are_named_and_comments_are_none(before: str, after: str, texts: list[str]) -> None:
    assert sorted(each.text for each in changes(before, after)) == sorted(texts)


def test_a_function_that_is_written_anew_is_compared_with_its_namesake_and_not_letter_by_letter() -> None:
    rows = [f"    value_{row} = compute_{row}(value_{row - 1}, scale={row})" for row in range(1, 400)]
    before = "def first(value_0):\n" + "\n".join(rows) + "\n\ndef second(value_0):\n" + "\n".join(rows) + "\n"
    after = before.replace("def second(value_0)", "def second(value_0, other)").replace("scale=7)", "scale=other)", 1)
    began = time.process_time()
    assert [each.text for each in changes(before, after)] == [
        "value_7 = compute_7(value_6, scale=other)",
        "def second(value_0, other):",
    ]
    assert time.process_time() - began < 5
