"""Records: equal by what they hold, changed without a trace of what was worked out before, and made when they are used."""

from __future__ import annotations

import pickle
import typing
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

from amplint.model.records import NamedTuple, changed, frozen


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


@frozen
class Named(Place):
    name: str = ""
    within: list[str] = field(default_factory=list, repr=False)


def test_what_a_record_never_needs_is_never_made() -> None:
    @frozen
    class Unused:
        number: int = 3

    names = ("__init__", "__repr__", "__eq__", "__hash__")
    unmade = {name: vars(Unused)[name] for name in names}
    assert Unused(2).number == 2
    assert [name for name in names if vars(Unused)[name] is not unmade[name]] == ["__init__"]


def test_records_are_what_dataclasses_are() -> None:
    @dataclass(unsafe_hash=True)
    class Plain:
        row: int
        column: int = 0
        said: str = field(default="", compare=False)
        name: str = ""
        within: list[str] = field(default_factory=list, repr=False, hash=False)

    assert [(each.name, each.compare) for each in fields(Named)] == [
        (each.name, each.compare) for each in fields(Plain)
    ]
    assert repr(Named(1, name="here")) == repr(Plain(1, name="here")).replace(Plain.__qualname__, "Named")
    assert Named(1).within == [] and Named(1).within is not Named(1).within
    assert Named(1) == Named(1, said="there") != Named(1, name="there")
    assert Named(1, 0) != Place(1, 0)
    match Named(4, 2):
        case Named(row, column):
            assert (row, column) == (4, 2)


class Pair(NamedTuple):
    """Two."""

    first: int
    second: tuple[int, ...] = ()

    @property
    def both(self) -> tuple[int, ...]:
        return (self.first, *self.second)


class TypedPair(typing.NamedTuple):
    """Two."""

    first: int
    second: tuple[int, ...] = ()


def test_named_tuples_are_what_those_of_typing_are() -> None:
    pair, typed = Pair(1), TypedPair(1)
    assert tuple(pair) == tuple(typed) == (1, ())
    assert repr(pair) == repr(typed).replace("TypedPair", "Pair")
    assert pair._replace(second=(2,)).both == (1, 2)
    assert pickle.loads(pickle.dumps(pair)) == pair
    for name in ("_fields", "_field_defaults", "__doc__", "__module__", "__slots__", "__match_args__"):
        assert getattr(Pair, name) == getattr(TypedPair, name)
