"""The state of autocast, which each thread has for itself: what stays of it after a call, and what a replica knows of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from threading import Thread

import torch

from amplint.diagnostics import Diagnostic
from amplint.model import observables
from amplint.model.events import Region
from amplint.rule import File
from amplint.runtime.devices import CUDA
from amplint.runtime.experiments.matmul_dtype import product_dtype
from amplint.runtime.experiments.rule_recheck import is_mended
from amplint.runtime.measures.measurement import Figure, Measurement

_DEPTH = 2
"""How deep a function calls itself."""


def left_on(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """Whether autocast is on after a recursive function has returned: one instance for all calls, or one for each.

    Raises:
        NotReplayable: the decorated function is not found again.
    """
    mended = is_mended(before, after, diagnostic)
    kind = "cuda" if device == CUDA else "cpu"
    states = [_in_a_thread(partial(_after_recursion, decorated, kind)) for decorated in (True, not mended, False)]
    return Measurement((Figure(observables.LEFT_ON, *states),))


def _after_recursion(decorated: bool, kind: str) -> str:
    shared = torch.autocast(kind, dtype=torch.bfloat16)

    def once_more(depth: int) -> None:
        with shared if decorated else torch.autocast(kind, dtype=torch.bfloat16):
            if depth:
                once_more(depth - 1)

    once_more(_DEPTH)
    return "on" if torch.is_autocast_enabled(kind) else "off"


def in_replica(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """The precision of a matrix product where a thread is told that autocast is on, and where it enters the region itself.

    Raises:
        NotReplayable: the region is not found again.
    """
    mended = is_mended(before, after, diagnostic)
    region = Region("cuda", "bfloat16", "yes")
    # A thread begins with the dtype that CUDA's autocast has by default, whatever that of the thread is that starts it.
    default = str(_in_a_thread(lambda: str(torch.get_autocast_dtype("cuda")))).removeprefix("torch.")
    told = Region("cuda", default, "yes")
    entered = (told, region if mended else told, region)
    return Measurement((Figure(observables.IN_REPLICA, *(product_dtype(each, device) for each in entered)),))


def _in_a_thread(ask: Callable[[], str]) -> str:
    answers: list[str] = []
    thread = Thread(target=lambda: answers.append(ask()))
    thread.start()
    thread.join()
    return answers[0]
