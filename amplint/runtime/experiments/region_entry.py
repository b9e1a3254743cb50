"""What becomes of a place that should enter an autocast region: the error, and the precision that operations get there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.model import observables
from amplint.roles.region_makers import Maker
from amplint.rule import File
from amplint.runtime.experiments.amp_objects import is_bare
from amplint.runtime.experiments.chosen_objects import chosen, entered_again, guards_of, unexplained
from amplint.runtime.experiments.constructor_arguments import decorated
from amplint.runtime.experiments.matmul_dtype import product_dtype
from amplint.runtime.measures.measurement import NONE, Figure, Measurement
from amplint.runtime.training.run_record import NotReplayable

_CLASSES: dict[str, type[torch.autocast]] = {
    "torch.autocast": torch.autocast,
    "torch.amp.autocast": torch.amp.autocast,
    "torch.cuda.amp.autocast": torch.cuda.amp.autocast,
    "torch.cpu.amp.autocast": torch.cpu.amp.autocast,
}


def take(before: File, after: File, diagnostic: Diagnostic, device: str, seed: int) -> Measurement:
    """Enter what the diagnostic is about, or decorate a function with it, as the code stands and with the fix.

    Raises:
        NotReplayable: the place is not found again, or what it enters is not known.
    """
    dropped = next((each for each in before.tree.find(cst.Expr) if _is_at(before, each, diagnostic)), None)
    if dropped is not None:
        return _dropped(before, after, dropped, device)
    places, counterparts = _places(before), _places(after)
    index = next((index for index, node in enumerate(places) if before.range(_named(node)) == diagnostic.range), None)
    if index is None or len(places) != len(counterparts):
        raise NotReplayable("what is entered is not found again")
    place = places[index]
    mine, theirs = ([each for each in found if each.deep_equals(place)] for found in (places, counterparts))
    counterpart = theirs[mine.index(place)] if len(mine) == len(theirs) else counterparts[index]
    region = after.contexts.of(counterpart)
    made, parent = before.contexts.maker(place), before.tree.parent(place)
    if region is None or (made is None and not isinstance(parent, cst.BooleanOperation)):
        raise NotReplayable("what is entered is not known")
    error, entered = NONE, product_dtype(None, device)
    if made is not None:
        error = _raised(lambda: _decorate(made) if isinstance(parent, cst.Decorator) else _enter(made))
        entered = NONE
    kept_out = isinstance(around := after.tree.parent(counterpart), cst.BooleanOperation) and around.left is counterpart
    meant = "float16" if region.dtype in ("?", "half") else region.dtype
    return Measurement(
        (
            Figure(observables.RAISED, error, NONE, NONE),
            Figure(observables.ENTERED, entered, product_dtype(None if kept_out else region, device), meant),
        )
    )


def _is_at(file: File, statement: cst.Expr, diagnostic: Diagnostic) -> bool:
    """Whether a diagnostic is about a region that a statement makes and drops."""
    call = statement.value
    return isinstance(call, cst.Call) and is_bare(file, call) and file.range(call.func) == diagnostic.range


def _dropped(before: File, after: File, statement: cst.Expr, device: str) -> Measurement:
    """What becomes of a region that is made and dropped, where the same is entered in both files under its conditions.

    Raises:
        NotReplayable: it is not: how far the region was to reach is not known.
    """
    row = before.range(statement).start.row
    guards = guards_of(before, statement)
    for mine, theirs in entered_again(before, after, row):
        key = guards - mine.guards
        now = theirs.choice.get(key)
        if now is None or mine.choice != theirs.choice or now not in chosen(before, statement.value).values():
            continue
        left = [each for each in after.tree.find(cst.Expr) if is_bare(after, each.value)]
        is_left = any(guards_of(after, each) == key | theirs.guards for each in left)
        region = None if is_left else after.contexts.of(now.call)
        figure = Figure(observables.ENTERED, product_dtype(None, device), product_dtype(region, device), "float16")
        return Measurement((figure,), beyond=unexplained(before, after, row))
    raise NotReplayable("how far the region was meant to reach is not known")


def _places(file: File) -> list[cst.BaseExpression]:
    """Everything that is entered or decorates, in the order of the file; of `with a and b:` also `a`, which is not entered."""
    decorators = [each.decorator for each in file.tree.find(cst.Decorator)]
    entered = [part for item in file.tree.find(cst.WithItem) for part in _parts(item.item)]
    return sorted([*decorators, *entered], key=file.tree.span)


def _parts(entered: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(entered, cst.BooleanOperation) and isinstance(entered.operator, cst.And):
        return [*_parts(entered.left), *_parts(entered.right)]
    return [entered]


def _named(place: cst.BaseExpression) -> cst.BaseExpression:
    """The part of a place at which a diagnostic may stand: what is called, where a region is made and not entered."""
    return place.func if isinstance(place, cst.Call) else place


def _enter(made: Maker) -> None:
    entered = partial(_class(made), "cuda") if made.preset else _class(made)  # type: ignore[operator, arg-type, misc]
    with entered:  # type: ignore[attr-defined]
        pass


def _decorate(made: Maker) -> None:
    given = {"device_type": "cuda"} if made.preset else {}
    _class(made)(decorated, **given)(torch.ones(1))  # type: ignore[operator]


def _class(made: Maker) -> object:
    names = sorted(name for name in made.names if name in _CLASSES)
    return _CLASSES[names[0]]


def _raised(use: Callable[[], None]) -> str:
    try:
        use()
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())}".partition(". ")[0]
    return NONE
