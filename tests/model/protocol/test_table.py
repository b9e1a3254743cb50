"""Tables of what is known: they say what a dictionary would say, and one that grows does not copy all of it each time."""

from __future__ import annotations

import random
import sys

from amplint.model.protocol.table import Table


def test_a_table_says_what_a_dictionary_says() -> None:
    chance = random.Random(7)
    table: Table[str, int] = Table()
    plain: dict[str, int] = {}
    for turn in range(3_000):
        key, content = f"name_{chance.randrange(200)}", chance.choice([None, 1, 2, 3])
        before, copied = table, dict(plain)
        table = table.put(key, content)
        plain.pop(key, None)
        if content is not None:
            plain[key] = content
        if turn % 50 == 0:
            assert dict(before.items()) == copied, "a table never changes"
            assert dict(table.items()) == plain
            assert (set(table.keys()), len(table)) == (set(plain), len(plain))
            empty: Table[str, int] = Table()
            again = empty.put_all(plain)
            assert (again, hash(again), again.differing(table)) == (table, hash(table), [])
            asked = [f"name_{chance.randrange(200)}" for _ in range(2)]
            assert table.knows_any(frozenset(asked)) == any(name in plain for name in asked)
            assert table.first(asked) == next((plain[name] for name in asked if name in plain), None)
            assert set(table.without(asked).keys()) == set(plain) - set(asked)
            changed = {name for name in {*copied, *plain} if copied.get(name) != plain.get(name)}
            assert before.differing(table) == [(name, copied.get(name), plain.get(name)) for name in changed]
            assert {each[0] for each in asked_again(table).differing(table)} == {"name_0"}
            odd = table.only(lambda name: name.endswith("1"))
            assert odd == empty.put_all({name: held for name, held in plain.items() if name.endswith("1")})


def asked_again(table: Table[str, int]) -> Table[str, int]:
    """The table with another content for one name, as a later state has it that shares the rest."""
    return table.put("name_0", 7)


def held(count: int) -> int:
    """The bytes of the dictionaries of as many tables as there are entries, each with one more than the last."""
    table: Table[int, int] = Table()
    parts: dict[int, object] = {}
    for number in range(count):
        table = table.put(number, number)
        parts.update({id(part): part for part in (table._before, table._changes)})
    return sum(map(sys.getsizeof, parts.values()))


def test_tables_that_grow_share_what_they_hold() -> None:
    assert held(2_000) < 8 * held(500), "sixteen times, if each copied the last one"
