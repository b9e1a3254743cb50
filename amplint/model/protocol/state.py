"""What decides what events do, and whether they are hazards: gradients, stages, regions and steps, and how they change."""

from __future__ import annotations

from functools import cached_property

from amplint.model.protocol.contents import UNKNOWN_GRAD, Asked, Entered, Grad, Stage, Stepped
from amplint.model.protocol.table import Table
from amplint.model.records import changed, frozen
from amplint.model.references import reference

ANY = "*"
"""Stands for the optimizers that were not met yet."""

NAMELESS = ""
"""Stands for the optimizers whose names stand for others by now."""


@frozen
class ProtocolState:
    """What decides what events do, and whether they are hazards.

    `gradients`: what the gradients hold that an optimizer will use; those of `ANY` are of all others.
    `stages`: what a scaler has done for an optimizer (a pair of both) since its last update.
    `regions`: the stack of autocast and no-grad regions, the outermost first.
    `stepped`: the last step of an optimizer, while nothing has asked yet whether it was skipped.
    `untested`: `unscale_` ran, and nothing has asked yet whether it met an overflow.
    `mode`: whether AMP is on, once a condition has decided it.
    """

    gradients: Table[str, Grad] = Table()
    stages: Table[tuple[str, str], Stage] = Table()
    regions: tuple[Entered, ...] = ()
    stepped: Table[str, Stepped] = Table()
    untested: bool = False
    mode: bool | None = None

    @cached_property
    def fingerprint(self) -> int:
        """Its hash, worked out once."""
        return hash((self.gradients, self.stages, self.regions, self.stepped, self.untested, self.mode))

    def __hash__(self) -> int:
        return self.fingerprint

    # -- gradients and scalers -------------------------------------------------------------------------------------

    def grad(self, optimizer: str) -> Grad:
        """The gradients that an optimizer will use."""
        return self.gradients.get(optimizer) or self.gradients.get(ANY) or UNKNOWN_GRAD

    def grads(self) -> dict[str, Grad]:
        """The gradients of every optimizer met so far, and of the others (`ANY`)."""
        return {ANY: UNKNOWN_GRAD, **dict(self.gradients.items())}

    def stage(self, scaler: str, optimizer: str) -> Stage | None:
        """What a scaler has done for an optimizer since its last update.

        Args:
            scaler: the reference to it.
            optimizer: the reference to it.
        """
        return self.stages.get((scaler, optimizer))

    def stages_of(self, scaler: str) -> list[tuple[str, str]]:
        """The scaler with each optimizer for which it has done anything since its last update."""
        return [pair for pair in self.stages.keys() if pair[0] == scaler]

    @property
    def amp_off(self) -> bool:
        """Whether this path was taken because AMP is off: its scalers are disabled or None."""
        return self.mode is False

    def with_grads(self, changes: dict[str, Grad]) -> ProtocolState:
        """The state with other gradients."""
        return self.changed(gradients=self.gradients.put_all(changes))

    def changed(self, **fields: object) -> ProtocolState:
        """The state with other contents of some fields; itself, where all are the same."""
        if all(getattr(self, name) == content for name, content in fields.items()):
            return self
        return changed(self, **fields)

    def naming_another(self, target: str, handed_back: bool = False) -> ProtocolState:
        """The state once a reference has got a value: what it named, its parts and the elements that it is the index of may be
        in the middle of their round, and what they name now is not.

        An optimizer that has lost its name still counts as one that its scaler can update after.

        Args:
            target: the reference.
            handed_back: whether the value comes from what the reference named, whose round goes on then.
        """
        given = reference(target)

        def is_lost(name: str) -> bool:
            return (not handed_back and given.includes(name)) or reference(name).is_indexed_by(target)

        lost = [pair for pair in self.stages.keys() if any(map(is_lost, pair))]
        gradients = [name for name in self.gradients.keys() if is_lost(name)]
        if not lost and not gradients:
            return self
        nameless = {
            (scaler, NAMELESS): Stage("stepped", stage.site)
            for (scaler, optimizer), stage in self.stages.items()
            if is_lost(optimizer) and not is_lost(scaler)
        }
        stages = self.stages.without(lost).put_all(nameless)
        return self.changed(stages=stages, gradients=self.gradients.without(gradients))

    # -- what conditions tell --------------------------------------------------------------------------------------

    def passed_by(self) -> ProtocolState:
        """The state at a moment of the run that comes now and then: what is done at it is not done for each step."""
        return self.changed(stepped=Table())

    def asking(self, branch: Asked | None, rest_of: tuple[int, ...] | None = None, ends: bool = False) -> ProtocolState:
        """The state once the program has asked something that may tell whether a step was, or will be, skipped.

        Args:
            branch: the branch in which what comes of the question lies; None where all that follows may go by it.
            rest_of: the loops (their sites) of which an iteration ends here, or goes on: what was stepped in an earlier one
                cannot be what it is about, for the step of this one goes by it as well. None for anything else.
            ends: whether the innermost of them ends, and not the iteration alone: nobody trains until a step is skipped.
        """
        if branch is None:
            settled = [
                name for name, step in self.stepped.items() if not (step.loops == rest_of and (step.earlier or ends))
            ]
            return self.changed(stepped=self.stepped.without(settled), untested=False)
        asked = {name: step._replace(asked=step.asked | {branch}) for name, step in self.stepped.items()}
        return self.changed(stepped=self.stepped.put_all(asked), untested=False)

    def next_round(self, loops: tuple[int, ...]) -> ProtocolState:
        """The state when the next iteration begins: the steps so far were taken in an earlier one, and gradients that were
        cleared are those of an earlier one.

        Args:
            loops: the loops around what is done again, its own the last.
        """
        empty = {name: Grad() for name, grad in self.gradients.items() if grad.cleared[1] >= 0 and not grad.parts}
        over = {
            name: step._replace(earlier=True)
            for name, step in self.stepped.items()
            if step.loops == loops and not step.earlier
        }
        return self.changed(stepped=self.stepped.put_all(over), gradients=self.gradients.put_all(empty))

    def asked(self, branch: Asked) -> ProtocolState:
        """The state once a branch has ended: what follows does not go by what it has asked."""
        over = {
            name: step._replace(asked=step.asked - {branch})
            for name, step in self.stepped.items()
            if branch in step.asked
        }
        return self.changed(stepped=self.stepped.put_all(over))

    def tested(self) -> ProtocolState:
        """The state once the program has asked for overflows: also of gradients that are unscaled and not stepped yet."""
        tested = {pair: stage._replace(tested=True) for pair, stage in self.stages.items() if stage.name == "unscaled"}
        return self.changed(stages=self.stages.put_all(tested))

    def not_skipped(self) -> ProtocolState:
        """The state once the program knows that a scale did not fall: the steps before that scaler's update were taken.

        Of a scaler that has stepped and not updated, its scale cannot tell yet.
        """
        waiting = {scaler for (scaler, _), stage in self.stages.items() if stage.name == "stepped"}
        told = [optimizer for optimizer, step in self.stepped.items() if step.scaler not in waiting]
        return self.changed(stepped=self.stepped.without(told), untested=bool(waiting) and self.untested)

    # -- regions ---------------------------------------------------------------------------------------------------

    @cached_property
    def active_region(self) -> Entered | None:
        """The region that decides the precision here: the innermost of a device that is not switched off again.

        Where a region is switched off and the device of either is unknown, the author means the one that is around.
        """
        by_device: dict[str, Entered] = {}
        for entered in self.regions:
            device = entered.region.device
            if entered.region.enabled == "no" and device != "grad":
                by_device = {each: open for each, open in by_device.items() if "?" not in (each, device)}
            if device != "grad":
                by_device.pop(device, None)
                by_device[device] = entered
        lowering = [entered for entered in by_device.values() if entered.region.lowers]
        return lowering[-1] if lowering else None

    @property
    def lowers(self) -> bool:
        """Whether operations run in half precision here, as far as the path tells."""
        active = self.active_region
        return active is not None and not (self.amp_off and active.region.enabled == "maybe")

    @cached_property
    def keeping_region(self) -> Entered | None:
        """The region that keeps what is cast here, also where it is itself switched off; None where none does."""
        around = [entered for entered in self.regions if entered.region.device != "grad"]
        return around[0] if around and all(entered.region.cached for entered in around) else None

    @cached_property
    def records_graph(self) -> bool:
        """Whether operations are recorded for backward (no `no_grad` around)."""
        return all(entered.region.device != "grad" for entered in self.regions)
