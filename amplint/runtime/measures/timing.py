"""How long work takes on a GPU, before and after a change.

Both are timed in turns, a round after the other, so that a GPU that warms up or slows down does so for both, and the one
that goes first changes from round to round. The work is recorded once and then replayed by the GPU alone (a CUDA graph):
small work would otherwise take as long as Python needs to ask for it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

import torch

Work = Callable[[], None]
"""Something to do on the GPU, always on the same tensors."""
Clock = Callable[[], float]
"""Does some work once or several times; the time of once, in microseconds."""

ROUNDS = 30
_WARM_UP = 3
"""Calls before the recording, in which libraries choose their kernels and make their workspaces."""
_RECORDED = 10
"""How often the work is done in one recording."""
_ROUND = 20.0
"""Milliseconds that a round aims at: long against what starting takes, short against the drift of a GPU's clock."""
_MOST_REPLAYS = 100


@dataclass(frozen=True)
class Times:
    """What each round took, in microseconds for doing the work once: before the change, and after."""

    before: tuple[float, ...]
    after: tuple[float, ...]

    @property
    def savings(self) -> tuple[float, ...]:
        """The part of the time that the change saves, round by round; negative where it costs time."""
        return tuple(1 - after / before for before, after in zip(self.before, self.after))

    def saved(self, least: float) -> bool | None:
        """Whether the change saves time: True if it does, False if it costs time, None if neither can be told.

        It does when the median of the savings is at least `least`, and larger than their spread; it costs time when the same
        holds of the median's negative.
        """
        median = statistics.median(self.savings)
        if abs(median) < least or abs(median) <= spread(self.savings):
            return None
        return median > 0


def spread(values: tuple[float, ...]) -> float:
    """The distance of the quartiles, between which the middle half of the values lies."""
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return third - first


def in_turns(before: Clock, after: Clock, rounds: int = ROUNDS) -> Times:
    """Read two clocks in turns; the one that is read first changes from round to round.

    Args:
        before: reads the time that the code takes once.
        after: reads the time that it takes with the fix.
        rounds: how often each is read.
    """
    pairs: list[tuple[float, float]] = []
    for index in range(rounds):
        if index % 2:
            late, early = after(), before()
        else:
            early, late = before(), after()
        pairs.append((early, late))
    return Times(tuple(early for early, _ in pairs), tuple(late for _, late in pairs))


def gpu_clock(work: Work) -> Clock:
    """A clock of the current CUDA device for some work, which must allocate nothing that it has not allocated before."""
    graph = _recorded(work)
    _elapsed(graph, 1)
    replays = max(1, min(_MOST_REPLAYS, round(_ROUND / max(_elapsed(graph, 1), 1e-3))))

    def clock() -> float:
        return _elapsed(graph, replays) * 1000 / (replays * _RECORDED)

    return clock


def _recorded(work: Work) -> torch.cuda.CUDAGraph:
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(
        aside
    ):  # a recording must not be the first use of anything, nor follow one on its own stream
        for _ in range(_WARM_UP):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(_RECORDED):
            work()
    return graph


def _elapsed(graph: torch.cuda.CUDAGraph, replays: int) -> float:
    """Milliseconds that the GPU takes for a recording, so many times over."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    for _ in range(replays):
        graph.replay()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))
