"""The costly look at one step alone: the step is run again, and every operation of it is watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from amplint.runtime.recording.call_sites import SourceLine, caller
from amplint.tracing.module_ranges import ModuleWatch
from amplint.tracing.operation_profile import OperationProfile
from amplint.tracing.operations import OperationWatch, range_of
from amplint.tracing.other_processes import CannotRunAgain
from amplint.tracing.rerun import Rerun
from amplint.tracing.step_profile import StepProfile
from amplint.tracing.tape import Tape
from amplint.tracing.trace_record import FirstNonFinite, LostGradients
from amplint.tracing.whereabouts import Lines, Whereabouts

_FAULTS, _LOSSES = 5, 2
"""Times that faults, and lost gradients, are looked for: a run that goes wrong in each step must come to its end."""


class SecondLook:
    """Looks at the step that is on the tape.

    Attributes:
        refusal: why a step could not be run again, the last time; empty where it could.

    Args:
        tape: what the step has called.
        modules: says which module is running.
        blamed: says where a weight that was not finite before became so, and why.
    """

    def __init__(
        self, tape: Tape, modules: ModuleWatch, blamed: Callable[[str, torch.Tensor], tuple[str, str]]
    ) -> None:
        self.refusal = ""
        self._tape, self._modules, self._blamed = tape, modules, blamed
        self._is_running = False
        self._faults_left, self._losses_left = _FAULTS, _LOSSES

    def locate(self) -> SourceLine | None:
        """The line of the program that is running; None while a step is run again, which is none of the program's doing."""
        return None if self._is_running else caller()

    def fault(self) -> FirstNonFinite | None:
        """The first operation that made inf or NaN, or the weight that was not finite before."""
        found = None
        if self._faults_left:
            self._faults_left -= 1
            with self._quiet():
                again = Rerun(self._tape.calls)
                if (found := self._lost_weight(again)) is None:
                    found = self._watch_operations(again).origin_of(again.gradients())
        return found

    def lost_gradients(self) -> list[LostGradients]:
        """Where float16 makes gradients zero."""
        lost: list[LostGradients] = []
        if self._losses_left:
            self._losses_left -= 1
            with self._quiet():
                lost = self._watch_operations(Rerun(self._tape.calls)).underflow.told()
        return lost

    def _watch_operations(self, again: Rerun) -> OperationWatch:
        watch = OperationWatch(self._modules, Whereabouts(self._modules, again.locate))
        again.run([self._modules.apart(), Lines(self._modules, again.locate), watch])
        watch.losses = again.losses
        return watch

    def _lost_weight(self, again: Rerun) -> FirstNonFinite | None:
        """A weight that was not finite before the step began."""
        for each in again.parameters():
            if each.requires_grad and not bool(torch.isfinite(each.detach()).all()):
                name = self._modules.names.parameters.get(id(each), "a parameter")
                place, why = self._blamed(name, each)
                place = place or str(again.begin or "?")
                return FirstNonFinite(0, False, "", "", place, "", (), range_of("weight", each), why)
        return None

    def profile(self, step: int, device: str) -> StepProfile | None:
        """What the step spends its time on.

        Args:
            step: its number.
            device: `cuda` or `cpu`: whose autocast it is.
        """
        profile = None
        with self._quiet():
            again = Rerun(self._tape.calls)
            watch = OperationProfile(self._modules, Whereabouts(self._modules, again.locate))
            again.run([Lines(self._modules, again.locate), watch])
            profile = watch.told(step, device)
        return profile

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        self._is_running, self._tape.is_on, self._modules.is_on, self.refusal = True, False, False, ""
        try:
            yield
        except CannotRunAgain as error:
            self.refusal = str(error)
        finally:
            self._is_running, self._tape.is_on, self._modules.is_on = False, True, True
