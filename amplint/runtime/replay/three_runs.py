"""Three runs side by side: the code as it stands, the code with the fix, and the reference."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from amplint.model.events import AutocastEnter, Event, ObjectFacts, Region, Scale, ZeroGrad
from amplint.model.references import reference
from amplint.runtime.devices import CUDA, EMULATED
from amplint.runtime.measures.measurement import Trio
from amplint.runtime.replay.branch_choices import YES
from amplint.runtime.replay.path_walk import ROUNDS, Walk
from amplint.runtime.training.amp_and_reference import AmpRun, ReferenceRun, autocast
from amplint.runtime.training.clip_limits import clip_unit
from amplint.runtime.training.iterations import Rounds
from amplint.runtime.training.loss_values import OVERFLOW_ROUND
from amplint.runtime.training.path_facts import Clipped, Intent, clip_owners, feeding, scalers_of, used
from amplint.runtime.training.run_record import NotReplayable, RunRecord
from amplint.runtime.training.torch_objects import INIT_SCALE, assumed_rate
from amplint.runtime.training.toy_problem import BATCH, ToyProblem
from amplint.runtime.training.trainer import Training
from amplint.runtime.training.training_setup import Alteration, TrainingSetup

_OUT_OF_SIGHT = "optimizer"
"""What stands for the optimizer of gradients that only a caller out of sight steps on."""
_TORCH_ERRORS = (RuntimeError, AssertionError, ValueError)
"""What torch raises on a misuse."""


class _Problem(NamedTuple):
    """What sets the small problem of one play apart: see `amplint.runtime.training.toy_problem.ToyProblem`."""

    optimizers: tuple[str, ...]
    overflowing: tuple[str, ...]
    magnitude: float
    island: bool
    recheck: bool


@dataclass(frozen=True)
class Trial:
    """Plays the two paths, and the reference."""

    before: Walk
    after: Walk
    subject: str
    """The optimizer that the finding is about; empty when it is about all."""
    device: str
    seed: int
    alterations: Mapping[int, Alteration] = field(default_factory=dict)
    """What the fix does to losses, by site."""
    by_scalers: bool = False
    """Whether the fix leaves steps of infinite gradients to the scalers: what is meant is then told by its path."""

    @cached_property
    def _played(self) -> dict[_Problem, Trio]:
        """What was played already: the runs on one problem are the same each time."""
        return {}

    @property
    def events(self) -> list[Event]:
        """What happens with the code as it stands."""
        return self.before.events

    @property
    def assumed(self) -> tuple[str, ...]:
        """What the code does not give, and the runs take for granted, in words."""
        objects = self.before.entry.objects
        rates = (
            f"{rate} for `{reference(name).written}`"
            for name in sorted(used(self.events) - {""})
            if (rate := assumed_rate(objects.get(name, ObjectFacts())))
        )
        units = (f"limits of clips times {self.unit:.3g}, so that they bind",) if self.unit != 1.0 else ()
        return (f"{ROUNDS} iterations on batches of {BATCH}", *rates, *units)

    @cached_property
    def plain(self) -> Trio:
        """The runs by which everything else is judged: the gradients of all optimizers that scalers step overflow."""
        return self.play(everywhere=True)

    def play(
        self,
        magnitude: float = 1.0,
        island: bool = False,
        spared: str = "",
        recheck: bool = False,
        everywhere: bool = False,
    ) -> Trio:
        """See `amplint.runtime.measures.path_measures.Player`."""
        optimizers = sorted(used(self.before.events) | used(self.after.events)) or [_OUT_OF_SIGHT]
        if "" in optimizers:
            raise NotReplayable("an optimizer cannot be told")
        scaled = scalers_of(self.before.events).keys() | scalers_of(self.after.events).keys()
        overflowing = [self.subject] if self.subject in optimizers and not everywhere else sorted(scaled)
        if spared:
            overflowing = [name for name in sorted(scaled) if name != spared]
        if recheck or (everywhere and not any(isinstance(event, Scale) for event in self.events)):
            overflowing = []
        how = _Problem(tuple(optimizers), tuple(overflowing), magnitude, island, recheck)
        if how not in self._played:
            self._played[how] = self._play(how)
        return self._played[how]

    def _play(self, how: _Problem) -> Trio:
        """Run all three on a small problem."""

        def problem(device: str) -> ToyProblem:
            place = "cuda" if device == CUDA else "cpu"
            aside, again = (
                (lambda: autocast(self._region(), device, True)) if each else None for each in (how.island, how.recheck)
            )
            return ToyProblem([*how.optimizers], [*how.overflowing], place, self.seed, how.magnitude, aside, again)

        before = self._amp(self.before, problem(self.device), self._clipped[0])
        again = before.repeats_backward
        after = self._amp(self.after, problem(self.device), self._clipped[1], self.alterations, again)
        walk, rounds = self.after if self.by_scalers else self.before, Rounds()
        feeds, clipped = feeding(walk.events), self._clipped[self.by_scalers]
        setup = TrainingSetup(
            problem(self.device), walk.entry.objects, rounds, feeds, clipped, self._cleared, self.unit
        )
        reference = ReferenceRun(setup, Intent.of(walk.events, walk.schedules_of_steps), _rightly_skipped(after))
        return Trio(before, after, _run(walk, reference, rounds))

    def _amp(
        self,
        walk: Walk,
        problem: ToyProblem,
        clipped: Clipped,
        alterations: Mapping[int, Alteration] | None = None,
        keeps_graphs: bool = True,
    ) -> RunRecord:
        rounds, decisions = Rounds(), walk.decisions.again()
        on = decisions.chosen.get("mode", YES).truth
        events = walk.events
        setup = TrainingSetup(
            problem,
            walk.entry.objects,
            rounds,
            feeding(events),
            clipped,
            self._cleared,
            self.unit,
            alterations or {},
            keeps_graphs,
        )
        return _run(walk, AmpRun(setup, self.device, on, scalers_of(events)), rounds)

    @cached_property
    def _clipped(self) -> tuple[Clipped, Clipped]:
        return clip_owners(self.before.events, self.after.events)

    @cached_property
    def unit(self) -> float:
        """See `amplint.runtime.measures.path_measures.Player`."""
        return clip_unit(self.before.events) or clip_unit(self.after.events) or 1.0

    @property
    def _cleared(self) -> bool:
        return not any(isinstance(event, ZeroGrad) for event in self.events)

    def _region(self) -> Region:
        """A region that switches autocast off for the device of the code's own regions."""
        regions = [event.region for event in self.before.events if isinstance(event, AutocastEnter)]
        device = next((region.device for region in regions if region.device != "grad"), "cuda")
        return Region(device, "?", "no")


def _rightly_skipped(record: RunRecord) -> frozenset[tuple[str, int]]:
    """The steps that even a scaler used right skips: those of infinite gradients, and those at too large a scale of its own."""
    skipped = (step for step in record.steps if step.gradient is None)
    return frozenset(
        (each.optimizer, each.round) for each in skipped if each.round == OVERFLOW_ROUND or each.scale > INIT_SCALE
    )


def _run(walk: Walk, world: Training, rounds: Rounds) -> RunRecord:
    """Walk a path again, in a world where things happen."""
    try:
        Walk(walk.entry, walk.decisions.again(), world, walk.prelude, rounds).run()
    except _TORCH_ERRORS as error:
        world.record.error = f"{type(error).__name__}: {str(error).partition('. ')[0].strip()}"
    world.record.loss_errors, world.record.precisions = world.problem.loss_errors, world.problem.precisions
    world.record.repeats_backward = world.problem.is_repeated
    return world.record


def emulation(device: str) -> AbstractContextManager[None]:
    if device != EMULATED:
        return nullcontext()
    from amplint.runtime.emulation.cuda_autocast import cuda_autocast

    return cuda_autocast()
