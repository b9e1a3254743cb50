"""What a profile comes to, as plain data. Imports no torch: reports read it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class StepTime:
    """The seconds of one step, from the end of the one before.

    Attributes:
        seconds: all of them.
        between: those before the forward pass began: data, logging.
        loading: those that the program waited for a `DataLoader`, by the clock of the processor.
    """

    seconds: float
    between: float
    loading: float


@dataclass(frozen=True)
class TurnRecord:
    """A program that was run once in one mode.

    Attributes:
        mode: such as `float16`.
        round: counts from 0, and is added to all seeds.
        exit_code: that of the program.
        problem: why it ended early, in one line; empty where it did not.
        traceback: of the program; empty where there is none.
        is_nothing: whether there was nothing to run.
        times: the steps after the warm-up.
        losses: of all steps, those of the warm-up first; NaN for a step without one.
        tried: steps of all optimizers, taken or not.
        skipped: those that the scaler left out.
        peak: the most bytes that were held after the warm-up; None where that cannot be told.
        resting: the bytes that were held between two steps; None where that cannot be told.
        kept: the most bytes that autograd kept for the backward pass of one step; None where that was not seen.
        batch: the first dimension of what the model was given; 0 where it was not seen.
        weights: how many parameters the optimizer has.
        capacity: the bytes that the GPU has; None without one.
        regions: how often an autocast region of the device was entered.
        enabled: how many of them the program itself has switched on.
        scalers: how many scalers the program has made.
        elsewhere: the device of regions that were entered for another one, such as `cpu`; empty without such.
    """

    mode: str
    round: int
    exit_code: int = 0
    problem: str = ""
    traceback: str = ""
    is_nothing: bool = False
    times: tuple[StepTime, ...] = ()
    losses: tuple[float, ...] = ()
    tried: int = 0
    skipped: int = 0
    peak: int | None = None
    resting: int | None = None
    kept: int | None = None
    batch: int = 0
    weights: int = 0
    capacity: int | None = None
    regions: int = 0
    enabled: int = 0
    scalers: int = 0
    elsewhere: str = ""


@dataclass(frozen=True)
class ModeSummary:
    """All turns of one mode.

    Attributes:
        mode: its name.
        steps: how many steps were measured.
        median: the seconds of a step; None where none was measured.
        low: the quarter of the steps was faster.
        high: the quarter of the steps was slower.
        between: the share of the time before the forward pass began.
        loading: the share of the time in which the program waited for a `DataLoader`.
        peak: the most bytes that were held.
        resting: the bytes that were held between two steps.
        kept: the most bytes that autograd kept for the backward pass of one step.
        tried: steps of all optimizers.
        skipped: those that a scaler left out.
        distance: the mean distance of the losses from those of float32 with the same seed, over the mean loss; None where
            there are no losses.
        lost: whether the losses end as NaN or infinity.
        scaled: whether a scaler was on.
        losses: of the first turn.
        problem: why the program failed in this mode; empty where it did not.
        turns: the median seconds of a step in each turn: turns differ by what else the machine does.
    """

    mode: str
    steps: int
    median: float | None
    low: float | None
    high: float | None
    between: float
    loading: float
    peak: int | None
    resting: int | None
    kept: int | None
    tried: int
    skipped: int
    distance: float | None
    lost: bool
    scaled: bool
    losses: tuple[float, ...]
    problem: str = ""
    turns: tuple[float, ...] = ()


@dataclass(frozen=True)
class LayerLook:
    """One step of one mode, with the time of each operation.

    Attributes:
        mode: its name.
        dtypes: how many results of the innermost modules had which dtype.
        seconds: by module, those of its operations and casts; the empty name stands for what is outside of modules.
        kinds: the classes of the modules.
        casts: the share of the time that casts take.
        number: how many casts there were.
        operations: how many other operations there were.
        reasons: why a module computes in float32 inside a region.
        made: the program's lines on which modules were made, as `file:line`.
        sized: the modules that have parameters of their own.
        refusal: why there is nothing else here; empty where there is.
    """

    mode: str
    dtypes: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    casts: float = 0.0
    number: int = 0
    operations: int = 0
    reasons: dict[str, str] = field(default_factory=dict)
    made: dict[str, str] = field(default_factory=dict)
    sized: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True)
class LayerCost:
    """A module that gains nothing from half precision, or could gain more.

    Attributes:
        module: its path.
        kind: its class.
        place: where the program made it, as `file:line`; may be empty.
        mode: the half precision that it was measured in.
        share: of the time of a step in that mode.
        ratio: its time against that in float32; None where times say nothing.
        why: what is known about it, in words.
        code: the rule that speaks of it; may be empty.
    """

    module: str
    kind: str
    place: str
    mode: str
    share: float
    ratio: float | None
    why: str
    code: str = ""


@dataclass(frozen=True)
class Advice:
    """What to do: the mode that pays, empty where none does; that in a sentence; and the reasons, a sentence each."""

    mode: str
    headline: str
    reasons: tuple[str, ...]


@dataclass
class ProfileRecord:
    """A profile.

    Attributes:
        command: what was run, as one would type it behind `python`.
        device: `cuda`, `cuda-emulated` or `cpu`.
        name: the model of the device.
        torch: the version of PyTorch.
        steps: how many steps of a turn were measured.
        warm_up: how many steps before them were not.
        rounds: how many turns each mode had.
        memory: the bytes that the GPU has; None without one.
        half: the half precisions that the device computes in, not only emulates.
        turns: how the program went.
        modes: what was compared, float32 first.
        noise: how far the losses of float32 with other seeds lie apart, at the most, over the mean loss; None where that
            cannot be told.
        looks: one step of each mode.
        layers: what keeps half precision from paying.
        advice: what to do; None before the end.
        stopped: why not all was measured; empty where it was.
    """

    command: str
    device: str
    name: str
    torch: str
    steps: int
    warm_up: int
    rounds: int
    memory: int | None = None
    half: tuple[str, ...] = ()
    turns: list[TurnRecord] = field(default_factory=list)
    modes: list[ModeSummary] = field(default_factory=list)
    noise: float | None = None
    looks: list[LayerLook] = field(default_factory=list)
    layers: list[LayerCost] = field(default_factory=list)
    advice: Advice | None = None
    stopped: str = ""

    def of(self, mode: str) -> ModeSummary | None:
        """The summary of a mode."""
        return next((one for one in self.modes if one.mode == mode), None)
