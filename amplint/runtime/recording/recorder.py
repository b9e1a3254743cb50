"""The runtime witness: a program runs as ever, and every move of its mixed precision is written down and judged.

    with Recorder() as recording:
        train()
    for hazard in recording.hazards:
        print(hazard.place, hazard.kind, hazard.values)

Calls of `GradScaler`, backward passes, clipping, steps, schedulers, autocast regions, `.grad` and checkpoints are watched
through torch's hooks and through replaced attributes, all of which are put back at the end, whatever happens. Each becomes an
event of the protocol that the static witness runs (`amplint.model.protocol`), filed under the line that made the call, with
what was measured. `amplint.runtime.recording.judge` says where a measurement takes the place of an assumption.

Not seen: what happened before the recording began (regions that were open, gradients that were there); autocast switched on
without a region (`torch.set_autocast_enabled`); `.grad` changed through memory shared with it (`.data`), but for `clamp_`;
`torch.autograd.grad`, `torch.autograd.backward` and `torch.save` under a name that was bound to the function before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType

from amplint.runtime.recording.call_sites import SourceLine, caller
from amplint.runtime.recording.event_log import Move, Recorded
from amplint.runtime.recording.judge import SeenHazard, judge_run
from amplint.runtime.recording.object_names import ObjectNames
from amplint.runtime.recording.patches import Patches
from amplint.runtime.recording.watch_clips import ClipWatch
from amplint.runtime.recording.watch_gradients import GradientWatch
from amplint.runtime.recording.watch_regions import CheckpointWatch, RegionWatch
from amplint.runtime.recording.watch_steps import StepWatch
from amplint.runtime.recording.watcher import Locate, Watch

_one_at_a_time = threading.Lock()


class Recording:
    """What a recorder has written down; grows while it records, and stays when it has stopped."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    @property
    def names(self) -> ObjectNames:
        """The names of the objects that the events speak of."""
        return self._watch.names

    @property
    def places(self) -> Sequence[SourceLine]:
        """The places of the events' sites."""
        return self._watch.journal.places

    @property
    def events(self) -> Sequence[Recorded]:
        """Every event, in the order in which the calls began."""
        return tuple(self._watch.journal.events)

    @property
    def hazards(self) -> tuple[SeenHazard, ...]:
        """Every hazard that happened, in the order in which it first did."""
        journal, names = self._watch.journal, self._watch.names
        return judge_run(tuple(journal.moves), journal.places, dict(names.objects), names.members())


class Recorder:
    """Records what runs inside `with`, on all threads. There is one at a time in a process, since torch is shared.

    Args:
        locate: says which line of the program is running; by default the innermost one outside torch.
        follow: gets each move when it has taken effect; then the recording keeps neither events nor hazards, however long
            the program runs.
    """

    def __init__(self, locate: Locate = caller, follow: Callable[[Move], None] | None = None) -> None:
        self._locate = locate
        self._follow = follow
        self._patches: Patches | None = None
        self._watch: Watch | None = None

    def __enter__(self) -> Recording:
        """Begin.

        Raises:
            RuntimeError: another recorder is at work.
        """
        if not _one_at_a_time.acquire(blocking=False):
            raise RuntimeError("another Recorder is at work in this process")
        self._watch, self._patches = Watch(self._locate, self._follow), Patches()
        try:
            for watcher in (GradientWatch, ClipWatch, StepWatch, RegionWatch, CheckpointWatch):
                watcher(self._watch).install(self._patches)
        except BaseException:
            self._stop()
            raise
        return Recording(self._watch)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watch is not None:
            self._watch.settle_access()
        self._stop()

    def _stop(self) -> None:
        if self._patches is not None:
            self._patches.undo()
        self._patches = self._watch = None
        _one_at_a_time.release()
