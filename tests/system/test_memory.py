"""What is kept from one check to the next: what was asked for last, as far as there is room."""

from __future__ import annotations

from amplint.system.memory import Kept, Memory


def known(memory: Memory) -> list[object]:
    return [answer for _, answer in memory.kept(Kept.TREES)]


def test_what_was_not_asked_for_longest_makes_room() -> None:
    memory = Memory({Kept.TREES: 10})
    for answer in ("a", "b"):
        memory.keep(Kept.TREES, answer, answer, 4)
    assert memory.known(Kept.TREES, "a") == "a"
    memory.keep(Kept.TREES, "c", "c", 4)
    assert known(memory) == ["a", "c"]


def test_an_answer_that_takes_more_room_than_before_counts_with_that() -> None:
    memory = Memory({Kept.TREES: 10})
    for answer, weight in (("a", 4), ("b", 4), ("a", 9)):
        memory.keep(Kept.TREES, answer, answer, weight)
    assert known(memory) == ["a"]
    memory.keep(Kept.TREES, "a", "a", 2)
    memory.keep(Kept.TREES, "b", "b", 8)
    assert known(memory) == ["a", "b"]


def test_of_other_kinds_nothing_is_kept() -> None:
    memory = Memory({Kept.TREES: 10})
    memory.keep(Kept.CONTENTS, "a", "a", 1)
    assert not memory.keeps(Kept.CONTENTS) and memory.known(Kept.CONTENTS, "a") is None
