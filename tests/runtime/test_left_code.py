"""What a change makes of the order in which code is left."""

from __future__ import annotations

from amplint.runtime.left_code import newly_left

LOOP = """\
def collect(loader):
    found = []
    for batch in loader:
        if batch is None:
            print("empty")
            continue
        found.append(batch)
    return found
"""


def test_the_same_code_leaves_nothing() -> None:
    assert newly_left(LOOP, LOOP.replace("found", "kept")) == []


def test_what_comes_to_stand_behind_a_jump_is_named() -> None:
    printed, jump = '            print("empty")\n', "            continue\n"
    assert newly_left(LOOP, LOOP.replace(printed + jump, jump + printed)) == [
        "`print('empty')`, which is not reached any more"
    ]


def test_what_stood_behind_a_jump_is_not() -> None:
    dead = LOOP.replace("    return found\n", "    return found\n    print(found)\n")
    assert newly_left(dead, dead.replace("loader", "batches")) == []


def test_a_return_that_moves_into_a_loop_is_named() -> None:
    assert newly_left(LOOP, LOOP.replace("    return", "        return")) == ["`return found` in another loop"]


def test_a_return_that_moves_with_its_loop_is_not() -> None:
    inside = LOOP.replace("    return", "        return")
    assert newly_left(inside, inside.replace("    found = []\n", "")) == []


def test_a_new_return_is_not() -> None:
    assert newly_left(LOOP, LOOP.replace("            continue\n", "            return None\n")) == []
