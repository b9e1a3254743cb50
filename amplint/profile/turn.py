"""A program, run once in one mode, in this process."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amplint.profile import memory
from amplint.profile.profile_record import TurnRecord
from amplint.profile.steering import Steering
from amplint.profile.stopwatch import Stopwatch
from amplint.runtime.recording.patches import Patches
from amplint.tracing.script import Ending, NoProgram, Script, on_device, run_script


@dataclass(frozen=True)
class Turn:
    """What is to be run.

    Attributes:
        script: the program.
        mode: such as `float16`.
        round: counts from 0; is added to all seeds.
        device: `cuda`, `cuda-emulated` or `cpu`.
        warm_up: how many steps come before those that count.
        steps: how many steps count.
        wakes: whether regions that the program switches off are switched on.
    """

    script: Script
    mode: str
    round: int
    device: str
    warm_up: int
    steps: int
    wakes: bool = False


def run_turn(turn: Turn) -> TurnRecord:
    """Run a program, and measure its steps."""
    watch = Stopwatch(turn.device, turn.warm_up, turn.steps)
    steering = Steering(turn.mode, turn.device, turn.round, turn.wakes, watch.begin)
    patches = Patches()
    try:
        with on_device(turn.device):
            steering.install(patches)
            watch.install(patches)
            ending = run_script(replace(turn.script, repeat=watch.repeat))
    except NoProgram as error:
        return TurnRecord(turn.mode, turn.round, problem=str(error), is_nothing=True)
    finally:
        patches.undo()
    times = watch.times()
    problem = "" if len(times) == turn.steps else _why(ending, turn, len(times))
    return TurnRecord(
        turn.mode, turn.round, ending.exit_code, problem, ending.traceback, False, times, watch.losses(), watch.tried,
        watch.skipped(), memory.peak(turn.device) if times else None, watch.resting, watch.kept(), watch.batch,
        watch.weights, memory.capacity(turn.device), steering.entered, steering.enabled, steering.scalers,
        steering.elsewhere,
    )  # fmt: skip


def _why(ending: Ending, turn: Turn, counted: int) -> str:
    """Why a program made fewer steps than were wanted, in one line."""
    when = f"after {counted + turn.warm_up} steps" if counted else "before the warm-up was over"
    last = ending.error
    if last:
        from amplint.tracing.cuda_scripts import refusal_of

        return f"the program failed {when}: {last}{refusal_of(last, turn.device)}"
    if ending.stopped or ending.exit_code:
        return f"{ending.stopped or f'exit code {ending.exit_code}'} {when}"
    return f"the program ended {when}; a turn takes {turn.warm_up + turn.steps} steps: try smaller `--warmup` and `--steps`"
