"""A profile, from the first turn to the advice."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from amplint.profile.layer_look import look_at_layers
from amplint.profile.layers import quieter
from amplint.profile.modes import BFLOAT16, FLOAT16, FLOAT32, HALF, ROUNDS, TF32, usual_modes
from amplint.profile.profile_record import LayerLook, ProfileRecord, TurnRecord
from amplint.profile.summary import summarise
from amplint.profile.turn import Turn, run_turn
from amplint.profile.turns import TurnDied, in_process
from amplint.runtime.device_names import CPU, CUDA
from amplint.runtime.devices import Device, import_optimizers
from amplint.tracing.script import NoProgram, Script

INTERRUPTED = 130
_LINES = 12
"""Lines that are kept of what a program said on standard error before it failed."""


@dataclass(frozen=True)
class ProfileOptions:
    """How a program is profiled.

    Attributes:
        script: the program.
        device: where it runs.
        modes: what is compared; empty for those that the device is worth trying in.
        steps: how many steps of a turn count.
        warm_up: how many steps come before them.
        on_turn: hears how many turns are over, and how many there are.
    """

    script: Script
    device: Device
    modes: tuple[str, ...]
    steps: int
    warm_up: int
    on_turn: Callable[[int, int], None]


def profile_program(options: ProfileOptions) -> ProfileRecord:
    """Run a program in all modes, in turns.

    Args:
        options: what is run, and how.

    Raises:
        NoProgram: there is no such file, module or function.
    """
    device = options.device
    record = ProfileRecord(
        options.script.command, device.kind, device.name, device.torch, options.steps, options.warm_up, ROUNDS,
        half=computed_halves(device),
    )  # fmt: skip
    with tempfile.NamedTemporaryFile(prefix="amplint-") as said:
        with suppress(KeyboardInterrupt):
            _Profiler(options, record, said.name).run()
    summarise(record)
    return record


def computed_halves(device: Device) -> tuple[str, ...]:
    """The half precisions that a device has instructions for."""
    if device.kind == CUDA:
        return HALF if _generation(device) >= 8 else (FLOAT16,)
    if device.kind != CPU:
        return HALF
    asked = (
        (FLOAT16, ("_is_amx_fp16_supported",)),
        (BFLOAT16, ("_is_avx512_bf16_supported", "_is_amx_tile_supported")),
    )
    return tuple(mode for mode, names in asked if any(getattr(torch.cpu, name, bool)() for name in names))


def _generation(device: Device) -> int:
    return int(device.capability.partition(".")[0]) if device.kind == CUDA else 0


class _Profiler:
    """Runs the turns of a profile, and keeps them in its record."""

    def __init__(self, options: ProfileOptions, record: ProfileRecord, said: str) -> None:
        self._options, self._record, self._said = options, record, said
        usual = usual_modes(options.device.kind, has_tf32=_generation(options.device) >= 8)
        self._modes = list(dict.fromkeys([FLOAT32, *(options.modes or usual)]))
        self._wakes = False

    def run(self) -> None:
        """Turn by turn; then one step of each mode is looked at."""
        self._record.stopped = "interrupted"  # unless it comes to its end
        first = self._turn(FLOAT32, 0)
        if first.exit_code == INTERRUPTED:
            return
        if not first.times:
            self._record.stopped = f"float32: {first.problem}"
            return
        # Not where there is a GPU: what is imported could use it, and a fork must not inherit that.
        if self._options.device.kind != CUDA:
            import_optimizers()
        self._wakes = first.regions > 0 and not first.enabled
        if not first.regions:
            self._modes = [mode for mode in self._modes if mode in (FLOAT32, TF32)]
        for mode, number in self._plan():
            if self._turn(mode, number).exit_code == INTERRUPTED:
                return
        turns = self._record.turns
        self._record.stopped = next((f"{turn.mode}: {turn.problem}" for turn in turns if turn.problem), "")
        for mode in [mode for mode in self._modes if mode != TF32 and len(self._modes) > 1]:
            self._record.looks.append(quieter(self._look(mode), self._look(mode)))

    def _plan(self) -> Iterator[tuple[str, int]]:
        """The turns after the first; every other round goes the other way, so that no mode is always the first."""
        total = ROUNDS * len(self._modes)
        for number in range(ROUNDS):
            for mode in self._modes[::-1] if number % 2 else self._modes[:]:
                is_first = number == 0 and mode == FLOAT32
                if mode in self._modes and not is_first:
                    self._options.on_turn(len(self._record.turns), total)
                    yield mode, number

    def _of(self, mode: str, number: int) -> Turn:
        options = self._options
        kind = options.device.kind
        return Turn(options.script, mode, number, kind, options.warm_up, options.steps, self._wakes)

    def _look(self, mode: str) -> LayerLook:
        try:
            return in_process(look_at_layers, self._of(mode, 0), self._said)
        except TurnDied as died:
            return LayerLook(mode, refusal=f"the program died: {died}")

    def _turn(self, mode: str, number: int) -> TurnRecord:
        try:
            told = in_process(run_turn, self._of(mode, number), self._said)
        except TurnDied as died:
            told = TurnRecord(mode, number, 1, f"the program died: {died}")
        if told.is_nothing:
            raise NoProgram(told.problem)
        if told.exit_code and not told.traceback:
            lines = Path(self._said).read_text("utf-8", "replace").splitlines(keepends=True)
            told = replace(told, traceback="".join(lines[-_LINES:]))
        self._record.turns.append(told)
        if not told.times and told.mode in self._modes and mode != FLOAT32:
            self._modes.remove(mode)
        return told
