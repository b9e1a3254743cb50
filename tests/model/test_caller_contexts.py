"""How functions are entered by code of other files: which ways are kept, and in which order."""

from __future__ import annotations

from itertools import permutations

from amplint.model.caller_contexts import MOST, CallerContext, Target, distinct

TARGET = Target("losses.py", "dice")


def entered(number: int, row: int = 1, caller: str = "train.py") -> CallerContext:
    """A way of entering that differs from others in an argument."""
    return CallerContext(TARGET, None, True, False, (("0", (number,)),), caller, row, 1)


def test_the_order_does_not_depend_on_who_was_found_first() -> None:
    ways = [entered(3), entered(1), entered(2), entered(4, caller="main.py")]
    assert {distinct(each) for each in permutations(ways)} == {(entered(4, caller="main.py"), *map(entered, (1, 2, 3)))}


def test_of_one_effect_the_first_place_is_kept() -> None:
    assert distinct([entered(1, row=7), entered(1, row=2), entered(1, row=7)]) == (entered(1, row=2),)


def test_not_more_ways_of_one_function_are_kept_than_say_anything_new() -> None:
    assert len(distinct(map(entered, range(MOST + 3)))) == MOST


def test_what_constructors_are_given_may_be_of_several_types() -> None:
    given = ((("block", ("Block",)),), (("block", "narrow"),), (("block", True),), ())
    ways = [entered(1)._replace(target=Target("net.py", "Net", True, given=each)) for each in given]
    assert len({distinct(each) for each in permutations(ways)}) == 1 and len(distinct(ways)) == 4
