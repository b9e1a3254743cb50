"""Records: equal by what they hold, changed without a trace of what was worked out before."""

from __future__ import annotations

import pickle
from dataclasses import field, replace
from functools import cached_property

from amplint.model.records import changed, frozen


@frozen
class Place:
    row: int
    column: int = 0
    said: str = field(default="", compare=False)

    @cached_property
    def text(self) -> str:
        return f"{self.row}:{self.column}"


@frozen
class Whole:
    row: int

    def __hash__(self) -> int:
        return 7


def test_records_are_equal_by_what_they_hold() -> None:
    assert Place(1, 2, "here") == Place(1, 2, "there")
    assert hash(Place(1, 2, "here")) == hash(Place(1, 2, "there"))
    assert len({Place(1), Place(1), Place(2)}) == 2
    assert hash(Whole(1)) == 7


def test_a_changed_record_is_what_replace_makes_of_it() -> None:
    before = Place(1, 2, "here")
    assert before.text == "1:2"
    after = changed(before, row=3)
    assert (after, after.said, after.text) == (replace(before, row=3), "here", "3:2")
    assert before == Place(1, 2)
    assert pickle.loads(pickle.dumps(after)) == after
