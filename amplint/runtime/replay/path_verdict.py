"""The verdict on a repair whose defect shows along a path: both paths are walked, and what comes of them is judged."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

from amplint.hazards.found import Found
from amplint.model.observables import RAISED, Observable
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import File
from amplint.runtime.changes import Change
from amplint.runtime.criterion import Observation, Question, judge, unmeasured
from amplint.runtime.experiments.amp_settings import other_flags
from amplint.runtime.measures import path_measures
from amplint.runtime.measures.measurement import Measurement, Trio
from amplint.runtime.replay.altered_losses import alteration, alterations
from amplint.runtime.replay.defect_paths import foreign_device, is_found_again, others, routes, subject_of
from amplint.runtime.replay.followed_changes import (
    changes_of,
    computes_losses,
    not_followed,
    on_path,
    refuse_several_losses,
)
from amplint.runtime.replay.moved_statements import crosses_conditions
from amplint.runtime.replay.neighbouring_paths import (
    alongside,
    branches,
    left_to_scalers,
    ordinary,
    put_behind,
    variants,
)
from amplint.runtime.replay.path_observations import lost_steps, observe, told_without_values
from amplint.runtime.replay.path_walk import TooLong, Walk
from amplint.runtime.replay.shown_on_path import READING
from amplint.runtime.replay.shown_units import wrong_gradients, wrong_units
from amplint.runtime.replay.three_runs import Trial, emulation
from amplint.runtime.replay.walked_side import Side, with_neighbours
from amplint.runtime.training.run_record import NotReplayable, Untrained
from amplint.runtime.verdict import NOT_OBSERVABLE, NOT_REPLAYABLE, PATH, Outcome

_VARIANTS = 6
"""So many paths with other answers to changed conditions are walked at most."""
_BRANCHES = 12
"""The same of answers to other conditions, behind which something is changed."""
_NOTHING_SCALED = "but _scale is None"
"""What a scaler raises where it has scaled nothing yet."""


@dataclass(frozen=True)
class PathReplay:
    """A hazard, and the file with a repair of it.

    Attributes:
        before: the file as it stands.
        after: the file with the repair.
        own: the file with the fix of the rule; None where that is what is judged, or nobody knows it.
        found: the hazard in the file as it stands.
        observable: how it shows.
        device: one of `amplint.runtime.devices`.
        seed: of the small problem.
        is_patch: whether somebody else's patch is judged.
    """

    before: File
    after: File
    own: File | None
    found: Found
    observable: Observable
    device: str
    seed: int
    is_patch: bool

    def judged(self, kept: Sequence[Observation]) -> Outcome:
        """The verdict.

        Args:
            kept: what the texts alone tell.

        Raises:
            NotReplayable, Untrained, CannotMake, TooLong: there is none, and why.
        """
        first, second = self._walks
        foreign = foreign_device(self.observable, first)
        if foreign:
            return Outcome(NOT_OBSERVABLE, f"the code is for {foreign!r}", self.observable.measure)
        kind = self.found.hazard.kind
        sides = Side(first, self.before), Side(second, self.after)
        changed = changes_of(*sides, self.own, kind, self.is_patch)
        refuse_several_losses(changed, sides[1])
        try:
            return self._judged(kept, changed, sides)
        except NotReplayable as problem:
            shown = Outcome(NOT_REPLAYABLE, str(problem), self.observable.measure, basis=PATH)
            return unmeasured([*self._wrong_gradients(sides)], shown)

    def _judged(self, kept: Sequence[Observation], changed: Sequence[Change], sides: tuple[Side, Side]) -> Outcome:
        """The verdict on what is measured along the path."""
        (first, second), kind = self._walks, self.found.hazard.kind
        with emulation(self.device), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # code with a defect is what torch warns about
            by_scalers = bool(left_to_scalers(first, second))
            subject = subject_of(self.found.hazard, first)
            altered = alterations(changed, sides[1])
            player = Trial(first, second, subject, self.device, self.seed, altered, by_scalers)
            usual = ordinary(*self._walks)
            crossed = crosses_conditions(*(sides if usual is None else with_neighbours(sides, usual)))
            if self.own is not None and self._walk_of_own is not None and not second.decisions.evaluated:
                crossed = crossed or crosses_conditions(Side(self._walk_of_own, self.own), sides[1])
            sides = self._with_branches(changed, sides)
            observed = [*self._observed(player, [*zip(*(each.aside for each in sides))], crossed)]
            if player.plain.before.readings and not player.plain.after.readings:
                # Nobody is told of the gradients any more, or in another unit: that may be meant.
                observed = [one for one in observed if one.what != READING]
                is_about_it = kind is HazardKind.GRAD_READ_BEFORE_UNSCALE
                kept = [one for one in kept if not (is_about_it and one.question is Question.MEANT)]
            try:
                taken = path_measures.take(self.observable.measure, player, self.found.hazard)
            except NotReplayable as problem:
                shown = Outcome(NOT_REPLAYABLE, str(problem), self.observable.measure, basis=PATH)
                return unmeasured([*kept, *observed, *self._units(sides)], shown)
            error = player.plain.before.error
            is_same = bool(error) and error == player.plain.after.error
            own_error = self._error_of_own(player) if is_same else None
        measured = taken.observations(self.observable.tolerance)
        if measured and all(one.before for one in measured):
            # The protocol names a defect that is not to be seen: that it is not named any more proves nothing.
            observed = [one for one in observed if one.question is not Question.GONE or one.is_left]
        observed += measured
        if is_same and own_error == "":
            kept = [*kept, Observation(Question.GONE, error, False, False)]
        elif is_same and self.observable.measure != RAISED and self.found.silent and kind not in self._others:
            reason = "the path raises an error that neither defect nor fix has to do with"
            return replace(taken.shown(self.observable.measure, PATH), reason=reason, others=tuple(self._others))
        kept = [*kept, *self._wrong_gradients(sides)]
        taken = replace(taken, assumed=(*taken.assumed, *player.assumed))
        beyond = not_followed(changed, *sides, kind)
        return self._told(taken, kept, observed, beyond, sides)

    def _units(self, sides: tuple[Side, Side]) -> Iterator[Observation]:
        """Whether gradients and losses are shown that a repair computes from others, and that have a power of the loss scale."""
        if self.found.hazard.kind in (HazardKind.GRAD_READ_BEFORE_UNSCALE, HazardKind.SCALED_LOSS_REPORTED):
            for what in wrong_units(self.after.source.text, sides[1].row_of_backward):
                yield Observation(Question.MEANT, what, True, False)

    def _wrong_gradients(self, sides: tuple[Side, Side]) -> Iterator[Observation]:
        """Whether a repair clips by a limit, or steps on gradients it changes by hand, that have a power of the loss scale."""
        known, now = (wrong_gradients(each.file.source.text, each.row_of_backward) for each in sides)
        for what in now:
            if what not in known:
                yield Observation(Question.MEANT, what, True, False)

    def _told(
        self,
        taken: Measurement,
        kept: Sequence[Observation],
        observed: Sequence[Observation],
        beyond: Sequence[Change],
        sides: tuple[Side, Side],
    ) -> Outcome:
        if not taken.ordinary:
            observed = [one for one in observed if one.question is not Question.GONE]
        beyond = on_path(beyond, *sides, self.found.hazard.kind) if self.is_patch else beyond
        if computes_losses([one for one in beyond if alteration(one) is None], sides[1]):
            observed = told_without_values(observed)
        texts = tuple(dict.fromkeys(one.text for one in beyond))
        texts += tuple(other_flags(self.own, self.after)) if self.own is not None else ()
        kinds = [f"the defect {kind}" for kind in self._of_own]
        kind = self.found.hazard.kind
        walk = self._walks[1]
        is_on_path = any(each.kind is kind for each in walk.hazards)
        is_counted = bool(
            walk.decisions.evaluated
        )  # of what comes from counting, what is found on other paths is a guess
        if not (is_on_path or is_counted) and is_found_again(self.found, self.before, self.own, self.after):
            kinds.append(f"the defect {kind} on another path")
        left = [Observation(Question.GONE, what, False, False) for what in kinds]
        return judge([*kept, *observed, *left], taken.shown(self.observable.measure, PATH), self._others, texts)

    @cached_property
    def _walks(self) -> tuple[Walk, Walk]:
        return routes(self.found, self.before, self.after)

    @cached_property
    def _walk_of_own(self) -> Walk | None:
        try:
            return routes(self.found, self.before, self.own)[1] if self.own is not None else None
        except (NotReplayable, Untrained, TooLong):
            return None

    @cached_property
    def _others(self) -> list[str]:
        """The kinds of other defects on the path, without those that the fix of the rule takes away as well."""
        return [kind for kind in others(*self._walks, self.found.hazard) if kind not in self._of_own]

    @cached_property
    def _of_own(self) -> list[str]:
        """The kinds of other defects that the fix of the rule takes away, and this repair leaves."""
        if self._walk_of_own is None:
            return []
        left = {each.kind for each in self._walk_of_own.hazards}
        return [kind for kind in others(*self._walks, self.found.hazard) if kind not in left]

    def _error_of_own(self, player: Trial) -> str | None:
        """What the fix of the rule raises; None where that is not known."""
        if self._walk_of_own is None:
            return None
        return replace(player, after=self._walk_of_own, alterations={}).plain.after.error

    def _with_branches(self, changed: Sequence[Change], sides: tuple[Side, Side]) -> tuple[Side, Side]:
        """The texts, with the paths that lead through changes which the path that shows the defect does not lead through."""
        kind = self.found.hazard.kind
        left = not_followed(changed, *sides, kind)
        for pair in islice(branches(*self._walks), _BRANCHES if left else 0):
            wider = with_neighbours(sides, pair)
            still = not_followed(changed, *wider, kind)
            if len(still) < len(left):
                sides, left = wider, still
        return sides

    def _observed(self, player: Trial, aside: Sequence[tuple[Walk, Walk]], crossed: bool) -> Iterator[Observation]:
        """What the runs along the path tell, and those along its neighbours.

        Args:
            player: plays the path.
            aside: the paths through changes that the path does not lead through.
            crossed: whether something comes to stand behind other conditions, which are then answered in other ways, too.
        """
        first, second = self._walks
        kind, files = self.found.hazard.kind, (self.before, self.after)
        yield from observe(player.plain, first, second, kind, files)
        for pair in (*aside, *islice(variants(first, second), _VARIANTS)):
            other = replace(player, before=pair[0], after=pair[1], by_scalers=False).plain
            is_asked_anew = pair[0] is first  # the defect has to be gone however that comes out
            seen = observe(other, *pair, kind, files)
            yield from (one for one in seen if one.question is not Question.GONE or (is_asked_anew and one.is_left))
        for walk in put_behind(first, second, self.before.source.text):
            yield from lost_steps(first, walk)
        usual = ordinary(first, second)
        more = [usual] if usual is not None else []
        more += islice(branches(first, second), _BRANCHES if crossed else 0)
        for pair in more:
            other = replace(player, before=pair[0], after=pair[1], by_scalers=False).plain
            if _is_taken(other):
                seen = observe(other, *pair, kind, files)
                yield from (one for one in seen if one.question is not Question.GONE and not one.is_left)
            if self._leaves_more_than_own(pair, other.after.error, player):
                yield Observation(
                    Question.GONE, f"the defect {kind} where a condition comes out otherwise", False, False
                )

    def _leaves_more_than_own(self, pair: tuple[Walk, Walk], error: str, player: Trial) -> bool:
        """Whether the defect, or what is raised, is on a path with this repair, and nothing of it with the fix of the rule."""
        own = alongside(self._walk_of_own, pair[0]) if self._walk_of_own is not None else None
        if own is None:
            return False
        left = [sum(each.kind is self.found.hazard.kind for each in walk.hazards) for walk in (own, pair[1])]
        fixed = replace(player, before=pair[0], after=own, alterations={}, by_scalers=False)
        return left[0] < left[1] or bool(error and not fixed.plain.after.error)


def _is_taken(trio: Trio) -> bool:
    """Whether a path is one that the program takes: conditions that exclude each other lead past what scales in both texts."""
    errors = (trio.before.error, trio.after.error)
    return not all(error is not None and _NOTHING_SCALED in error for error in errors)
