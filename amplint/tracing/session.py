"""One traced run, from the first line of the program to the record of what happened."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

import torch

from amplint.model.events import ScalerUpdate, SchedulerStep
from amplint.runtime.devices import CPU
from amplint.runtime.recording.call_sites import caller
from amplint.runtime.recording.event_log import Move
from amplint.runtime.recording.judge import RunJudge, SeenHazard
from amplint.runtime.recording.object_names import optimizer_parameters
from amplint.runtime.recording.patches import Patches
from amplint.runtime.recording.recorder import Recorder
from amplint.runtime.recording.tensor_facts import gradients
from amplint.tracing.last_steps import LastSteps
from amplint.tracing.module_ranges import ModuleWatch, RangeSeen
from amplint.tracing.operations import OperationWatch
from amplint.tracing.origin import first_among, is_by_scale, of_another_rank
from amplint.tracing.program_warnings import keep_places
from amplint.tracing.ranks import rank_of_several
from amplint.tracing.schedules import ScheduleLog
from amplint.tracing.script import Ending, EnoughSeen, Script, in_one_line, on_device, run_script
from amplint.tracing.second_look import SecondLook
from amplint.tracing.step_record import StepRecord
from amplint.tracing.steps import StepLog
from amplint.tracing.tape import Tape
from amplint.tracing.trace_record import FirstNonFinite, SeenDefect, TraceRecord
from amplint.tracing.underflow import may_be_lost
from amplint.tracing.warnings import warnings_of
from amplint.tracing.whereabouts import Lines, Whereabouts


@dataclass(frozen=True)
class TraceOptions:
    """How a program is traced.

    Attributes:
        device: `cuda`, `cuda-emulated` or `cpu`.
        steps: end the program after so many steps of optimizers; 0 for never.
        after: look at nothing but the protocol before that step.
        until_nonfinite: end the program once a value that is not finite has reached the loss or a step that was taken.
        operations: look at every operation.
        again: run a step again, and look at every operation of it, where something has gone wrong, and once for the dtypes.
        on_step: gets each step that is kept, as soon as it is over.
    """

    device: str
    steps: int = 0
    after: int = 0
    until_nonfinite: bool = False
    operations: bool = False
    again: bool = True
    on_step: Callable[[StepRecord], None] = lambda step: None


Describe = Callable[[Sequence[tuple[SeenHazard, tuple[int, ...]]]], list[SeenDefect]]
"""Says which rules speak of what was seen; gets each with the steps in which it happened."""

_MARKS = 10_000
"""Steps that are kept of one defect."""


def run_traced(script: Script, options: TraceOptions, describe: Describe) -> tuple[TraceRecord, Ending]:
    """Run a program, and watch it.

    Args:
        script: the program.
        options: what is looked at.
        describe: finds the rules that speak of what was seen.

    Raises:
        NoProgram: there is no such file or module.
    """
    session = _Session(options)
    with session.watching():
        ending = run_script(script)
    record = session.record
    record.command, record.exit_code, record.stopped = script.command, ending.exit_code, ending.stopped
    record.error = ending.error
    if ending.error:
        from amplint.tracing.cuda_scripts import refusal_of

        record.error += refusal_of(ending.error, options.device)
    session.conclude(describe)
    return record, ending


@contextmanager
def block_traced(options: TraceOptions, describe: Describe, model: torch.nn.Module | None) -> Iterator[TraceRecord]:
    """Watch what runs inside; the record is whole at the end.

    Args:
        options: what is looked at; where it ends a program, the block ends.
        describe: finds the rules that speak of what was seen.
        model: the module whose parameters get their names from it, also where a part of it is called first.
    """
    session = _Session(options)
    if model is not None:
        session.modules.names.name_all(model)
    session.record.command = str(caller())
    try:
        with session.watching():
            yield session.record
    except EnoughSeen as enough:
        session.record.stopped = str(enough)
    except BaseException as error:
        session.record.error = in_one_line(error)
        raise
    finally:
        session.conclude(describe)


class _Session:
    """The watches of one run, and what they have seen."""

    def __init__(self, options: TraceOptions) -> None:
        self.record = TraceRecord("", options.device, torch.__version__, _rank())
        self._options = options
        self.modules = ModuleWatch()
        self._tape = Tape(self.modules.is_inside)
        self._second = SecondLook(self._tape, self.modules, self._blamed) if options.again else None
        self._operations = OperationWatch(self.modules, Whereabouts(self.modules)) if options.operations else None
        self._enough = ""
        self._recorder = Recorder(self._second.locate if self._second is not None else caller, self._follow)
        self._hazards: tuple[SeenHazard, ...] = ()
        self._steps_of: defaultdict[tuple[str, str], dict[int, None]] = defaultdict(dict)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what runs inside."""
        patches = Patches()
        with ExitStack() as stack:
            stack.enter_context(on_device(self._options.device))
            recording = stack.enter_context(self._recorder)
            self._judge = RunJudge(recording.names.objects, recording.names.members)
            self._objects = recording.names
            self._last_steps = LastSteps(recording.names)
            self._log = StepLog(recording.names, self.modules.names.parameters, self._stepped, self._keep)
            self._schedules = ScheduleLog(recording.names)
            stack.callback(patches.undo)
            keep_places(patches)
            self.modules.install(patches)
            if self._second is not None:
                self._tape.install(patches)
                stack.enter_context(self._tape)
            if self._operations is not None:
                self._operations.install(patches)
                stack.enter_context(Lines(self.modules))
                stack.enter_context(self._operations)
            try:
                yield
            finally:
                self._enough = ""  # what is yet to be written down must not end the program once more
                self._hazards = self._judge.hazards(recording.places)

    def conclude(self, describe: Describe) -> None:
        """Fill the record with what was seen."""
        record = self.record
        self._log.end()
        record.totals = self._log.totals
        record.defects = describe(
            [(each, tuple(self._steps_of[each.kind, str(each.trigger.place)])) for each in self._hazards]
        )
        record.dtypes = self.modules.dtypes()
        if self._operations is not None:
            record.lost = self._operations.underflow.told()
        record.warnings = warnings_of(record, self._schedules.told())

    # -- while the program runs ------------------------------------------------------------------------------------

    def _follow(self, move: Move) -> None:
        after_step = isinstance(move.recorded.event, (SchedulerStep, ScalerUpdate))
        for kind in self._judge.follow(move):
            steps = self._steps_of[kind, str(move.recorded.place)]
            if len(steps) < _MARKS:
                steps[self._log.totals.tried + (not after_step)] = None
        self._schedules.follow(move)
        self._log.follow(move)
        if self._enough:
            raise EnoughSeen(self._enough)

    def _stepped(self, step: StepRecord) -> StepRecord:
        seen = self.modules.taken()
        if step.number > self._options.after:
            step = self._judged(seen, step)
        if self._operations is not None:
            self._operations.forget()
        if self._second is not None:
            self._look_again(self._second, seen, step)
            self._tape.clear()
        self._last_steps.note(step)
        if self._options.until_nonfinite and self.record.first is not None and self._ends_for_all(step):
            self._enough = f"a value that is not finite was found in step {step.number}"
        elif self._options.steps and step.number >= self._options.steps:
            self._enough = "1 step was traced" if step.number == 1 else f"{step.number} steps were traced"
        return step

    def _ends_for_all(self, step: StepRecord) -> bool:
        """Whether other processes end here, too: one that goes on would wait for this one."""
        return not self.record.rank or not step.taken or step.is_lost

    def _look_again(self, second: SecondLook, seen: Sequence[RangeSeen], step: StepRecord) -> None:
        """Ask of a step what only the costly look tells: gradients that may be lost, and once what time is spent on."""
        if not self.record.lost and self._operations is None and any(map(may_be_lost, seen)):
            self.record.lost = second.lost_gradients()
        if self.record.profile is None and step.taken and not self.record.not_again:
            self.record.profile = second.profile(step.number, "cpu" if self._options.device == CPU else "cuda")
            self.record.not_again = second.refusal

    def _keep(self, step: StepRecord) -> None:
        self.record.steps.append(step)
        self._options.on_step(step)

    def _judged(self, seen: Sequence[RangeSeen], step: StepRecord) -> StepRecord:
        """The step, with what made its gradients infinite; what the scale alone has not done is kept as the first."""
        if step.taken and _is_finite(step.loss) and _is_finite(step.norm):
            return step
        may_be_by_scale = not step.taken and _is_finite(step.loss)
        found = self._seen_origin(step) or first_among(seen)
        if found is None or not (found.operation or (may_be_by_scale and is_by_scale(found))):
            found = self._operation_at_fault() or found
        found = found or self._of_another_rank(step)
        if found is None:
            return step
        if self.record.first is None and not (may_be_by_scale and is_by_scale(found)):
            self.record.first = replace(found, step=step.number)
        return step if step.taken else replace(step, because=f"{found.place}: {found.why}")

    def _seen_origin(self, step: StepRecord) -> FirstNonFinite | None:
        """What `--ops` has seen of the step."""
        optimizer = self._objects.optimizer_named(step.optimizer)
        if self._operations is None or optimizer is None:
            return None
        return self._operations.origin_of(gradients(optimizer_parameters(optimizer)))

    def _operation_at_fault(self) -> FirstNonFinite | None:
        return self._second.fault() if self._second is not None else None

    def _blamed(self, name: str, weight: torch.Tensor) -> tuple[str, str]:
        return self._last_steps.blamed(name, weight)

    def _of_another_rank(self, step: StepRecord) -> FirstNonFinite | None:
        optimizer = self._objects.optimizer_named(step.optimizer)
        if not self.record.rank or optimizer is None:
            return None
        return of_another_rank(optimizer_parameters(optimizer), self.modules.names.parameters, step.place)


def _rank() -> str:
    rank = rank_of_several()
    return f"{rank} of {os.environ['WORLD_SIZE']}" if rank else ""


def _is_finite(number: float | None) -> bool:
    return number is None or math.isfinite(number)
