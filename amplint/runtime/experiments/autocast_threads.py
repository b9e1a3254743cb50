"""The state of autocast, which each thread has for itself: what stays of it after a call, and what a replica knows of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Thread

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.facts.forward_passes import Forwards
from amplint.facts.recursive_calls import Recursion
from amplint.model import observables
from amplint.model.events import Region
from amplint.rule import File
from amplint.runtime.devices import CUDA
from amplint.runtime.experiments.matmul_dtype import product_dtype
from amplint.runtime.measures.measurement import Figure, Measurement
from amplint.runtime.training.run_record import NotReplayable

_DEPTH = 2
"""How deep a function calls itself."""


def left_on(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """Whether autocast is on after a recursive function has returned: one instance for all calls, or one for each.

    Raises:
        NotReplayable: the decorated function is not found again.
    """
    decorator = next((each for each in before.tree.find(cst.Decorator) if _is_at(before, each, diagnostic)), None)
    function = before.tree.parent(decorator) if decorator is not None else None
    again = _counterpart(before, function, after) if isinstance(function, cst.FunctionDef) else None
    if not isinstance(function, cst.FunctionDef) or again is None:
        raise NotReplayable("the decorated function is not found again")
    kind = "cuda" if device == CUDA else "cpu"
    sharing = _shares(before, function), _shares(after, again), False
    states = [_in_a_thread(partial(_after_recursion, shared, kind)) for shared in sharing]
    return Measurement((Figure(observables.LEFT_ON, *states),))


def _is_at(file: File, decorator: cst.Decorator, diagnostic: Diagnostic) -> bool:
    return file.range(decorator.decorator) == diagnostic.range


def _counterpart(before: File, function: cst.FunctionDef, after: File) -> cst.FunctionDef | None:
    """The function of the same name, in the class of the same name."""
    wanted = _named(before, function)
    return next((each for each in after.tree.find(cst.FunctionDef) if _named(after, each) == wanted), None)


def _named(file: File, function: cst.FunctionDef) -> tuple[str, ...]:
    above = (each for each in file.tree.ancestors(function) if isinstance(each, (cst.FunctionDef, cst.ClassDef)))
    return function.name.value, *(each.name.value for each in above)


def _shares(file: File, function: cst.FunctionDef) -> bool:
    """Whether all calls of a function, which runs in itself, enter one instance of a region: a decorator, or a name for it."""
    entered = [item.item for each in file.tree.inside(function, cst.With) for item in each.items]
    shared = [each.decorator for each in function.decorators] + [
        each for each in entered if not isinstance(each, cst.Call)
    ]
    regions = [region for each in shared if (region := file.contexts.of(each)) is not None]
    return file.fact(Recursion).into(function) is not None and any(each.device != "grad" for each in regions)


def _after_recursion(shared: bool, kind: str) -> str:
    instance = torch.autocast(kind, dtype=torch.bfloat16)

    def once_more(depth: int) -> None:
        with instance if shared else torch.autocast(kind, dtype=torch.bfloat16):
            if depth:
                once_more(depth - 1)

    once_more(_DEPTH)
    return "on" if torch.is_autocast_enabled(kind) else "off"


def in_replica(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """The precision of a matrix product where a thread is told that autocast is on, and where it enters the region itself.

    Raises:
        NotReplayable: the region is not found again.
    """
    region = Region("cuda", "bfloat16", "yes")
    mine, theirs = (_entered_by_replicas(before, file, diagnostic) for file in (before, after))
    # A thread begins with the dtype that CUDA's autocast has by default, whatever that of the thread is that starts it.
    default = str(_in_a_thread(lambda: str(torch.get_autocast_dtype("cuda")))).removeprefix("torch.")
    told = Region("cuda", default, "yes")
    entered = mine or told, theirs or told, region
    return Measurement((Figure(observables.IN_REPLICA, *(product_dtype(each, device) for each in entered)),))


def _entered_by_replicas(before: File, file: File, diagnostic: Diagnostic) -> Region | None:
    """The region in which the forward pass of a model computes in a file; None for that of the thread it is told of.

    Raises:
        NotReplayable: the forward pass is not found again.
    """
    passes = before.fact(Forwards).passes
    old = next(
        (one for one in passes if one.entry is not None and before.range(one.entry[1]) == diagnostic.range), None
    )
    found = file.fact(Forwards)
    new = next((one for one in found.passes if old is not None and one.model == old.model), None)
    if new is None:
        raise NotReplayable("the forward pass of the replicas is not found again")
    inside = found.own_region(new)
    if inside is not None:
        return inside
    outside = new.entry[0] if new.entry is not None else Region("cuda", "?", "no")
    return None if found.is_data_parallel(new) else outside


def _in_a_thread(ask: Callable[[], str]) -> str:
    answers: list[str] = []
    thread = Thread(target=lambda: answers.append(ask()))
    thread.start()
    thread.join()
    return answers[0]
