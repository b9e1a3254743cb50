"""How functions are entered by code of other files, under which autocast region, with which dtypes, and what they give back.

Plain values, so that they can be handed from one process to another, and kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from amplint.model.records import NamedTuple

if TYPE_CHECKING:
    from amplint.model.events import Region

MOST = 6
"""So many contexts of one function are followed; callers beyond them hardly say anything new."""

Shape = tuple[Any, ...] | None
"""A value without its places: see `amplint.dtypes.shapes`."""


Given = str | bool | tuple[str]
"""A text or a flag that a constructor is given, or the name of a class of the file that defines it."""

OR_ATTRIBUTE, IN_BASES = "or attribute", "in bases"
"""Where the object has no such method, its attribute of that name may hold what is called; it is one of `super()`."""


class Target(NamedTuple):
    """A function of another file.

    Attributes:
        file: the path of the file; empty where only the name is known by which the function, or its object, is called.
        name: what the file calls the function, or the class of the object; before it is linked, any expression that holds the
            function or the object; or the name of a parameter, or attribute, that does.
        made: whether it is an object that is called, or a method of one.
        method: the method; empty for `forward`.
        switch: the attribute by which the object decides whether the region is switched on; empty for none, and once it is
            linked.
        given: what the object's constructor is given, by parameter, as far as it asks for it; once it is linked.
        lookup: where the method is looked for; empty for the class of the object and its bases, and once it is linked.
    """

    file: str
    name: str
    made: bool = False
    method: str = ""
    switch: str = ""
    given: tuple[tuple[str, Given], ...] = ()
    lookup: str = ""


class CallManner(NamedTuple):
    """A way to call a function: its result is the same, wherever the call stands.

    Attributes:
        target: the function.
        region: the autocast region in effect, None outside of any.
        differentiates: whether gradients are recorded.
        arguments: what is known of each argument, by position ("0") or keyword.
    """

    target: Target
    region: Region | None
    differentiates: bool
    arguments: tuple[tuple[str, Shape], ...]


class ResultElsewhere(NamedTuple):
    """What a function of another file gives back.

    Attributes:
        way: how it is called; once it is linked, with the target as the file that calls knows it.
        shapes: what is known of the result: one for each function that may be meant.
        sure: whether the call can mean no other function.
    """

    way: CallManner
    shapes: tuple[Shape, ...]
    sure: bool = True

    @property
    def effect(self) -> tuple[object, ...]:
        """What decides on how the file that calls runs."""
        return tuple(self)

    @property
    def names(self) -> tuple[str, ...]:
        """What the file is asked for by name: nothing."""
        return ()


class CallerContext(NamedTuple):
    """One way in which a function is entered.

    Attributes:
        target: the function.
        region: the autocast region in effect, None outside of any.
        differentiates: whether gradients are recorded.
        loss: whether the code is a loss by construction, or called by one.
        arguments: what is known of each argument, by position ("0") or keyword.
        caller: the path of the file that calls; there `row` and `column` (1-based) are where it enters the region, or calls.
        asks: whether what the function gives back makes a difference there.
        end_row: with `end_column`, where the region or the call ends that begins at `row` and `column`.
        end_column: see `end_row`.
        under: whether a call stands at that place, in a region that a caller of its own enters.
        normalised: whether what follows may normalise what is given back before it goes into a loss.
    """

    target: Target
    region: Region | None
    differentiates: bool
    loss: bool
    arguments: tuple[tuple[str, Shape], ...]
    caller: str
    row: int
    column: int
    asks: bool = False
    end_row: int = 0
    end_column: int = 0
    under: bool = False
    normalised: bool = False

    @property
    def way(self) -> CallManner:
        """What decides on what the function gives back."""
        return CallManner(self.target, self.region, self.differentiates, self.arguments)

    @property
    def names(self) -> tuple[str, ...]:
        """What the function, or the object and its method, are called."""
        return tuple(filter(None, (self.target.name, self.target.method)))

    @property
    def effect(self) -> tuple[object, ...]:
        """What decides on how the function runs, and what is to be said of it: everything but where it is called."""
        return self.way, self.loss, self.asks, self.normalised


class AskedObject(NamedTuple):
    """A question to other files: of which class the object is that they give a parameter, or that a function of theirs makes.

    Attributes:
        file: the path of the file that asks.
        owner: the function, or the class whose constructor it is, at the top of the file; empty for a function of theirs.
        parameter: the name of the parameter, or what the file calls the function.
        only: the class of PyTorch that makes a difference; any where it is empty.
    """

    file: str
    owner: str
    parameter: str
    only: str = ""


class ObjectElsewhere(NamedTuple):
    """What the calls in other files say to such a question.

    Attributes:
        asked: the question.
        file: the path of the file that defines the class, or makes an object of a class of PyTorch.
        name: the class; one of PyTorch by its full name, `torch.nn.CrossEntropyLoss`.
        row: with `column` (both from 1), `end_row` and `end_column`, where an object of a class of PyTorch is made.
        column: see `row`.
        end_row: see `row`.
        end_column: see `row`.
    """

    asked: AskedObject
    file: str
    name: str
    row: int = 0
    column: int = 0
    end_row: int = 0
    end_column: int = 0

    @property
    def is_of_torch(self) -> bool:
        """Whether it is a class of PyTorch."""
        return "." in self.name

    @property
    def effect(self) -> tuple[object, ...]:
        """What decides on how the file that has asked runs."""
        return tuple(self)

    @property
    def names(self) -> tuple[str, ...]:
        """What the file is asked for by name: nothing."""
        return ()


FromElsewhere = CallerContext | ResultElsewhere | ObjectElsewhere
"""What other files tell one about calls between them."""
ToOthers = CallerContext | ResultElsewhere | AskedObject
"""What a file tells others about such calls, and what it asks them."""


def distinct(contexts: Iterable[CallerContext]) -> tuple[CallerContext, ...]:
    """Contexts in a stable order: one for each effect, and not too many for one function."""
    found: dict[tuple[CallManner, bool, bool], CallerContext] = {}
    counts: dict[Target, int] = {}
    for context in _ordered(contexts):
        key = context.way, context.loss, context.normalised
        if key in found:
            found[key] = found[key]._replace(asks=found[key].asks or context.asks)
        elif counts.get(context.target, 0) < MOST:
            found[key] = context
            counts[context.target] = counts.get(context.target, 0) + 1
    return tuple(found.values())


def _ordered(contexts: Iterable[CallerContext]) -> Iterator[CallerContext]:
    """Contexts by function and place, those of one place by how they are written."""
    for _, here in groupby(sorted(dict.fromkeys(contexts), key=_place), key=_place):
        alike = [*here]
        yield from sorted(alike, key=repr) if len(alike) > 1 else alike


def _place(context: CallerContext) -> tuple[object, ...]:
    target = context.target
    # What a constructor is given is of several types, which Python puts into no order.
    return target._replace(given=()), repr(target.given), context.caller, context.row, context.column
