"""What a trace comes to, as plain data. Imports no torch: reports read it."""

from __future__ import annotations

from dataclasses import dataclass, field

from amplint.tracing.step_profile import StepProfile
from amplint.tracing.step_record import StepRecord, StepTotals

ENOUGH = 0.2
"""The share of a module's gradients from which on it is told that they are lost."""


@dataclass(frozen=True)
class SeenDefect:
    """A defect that happened while the program ran.

    Attributes:
        code: the rule that speaks of it, such as `AMP101`.
        name: the rule's name.
        place: the line, as `file:line`.
        message: what the linter says of that line, or the rule in general where reading has not found it.
        times: how often it happened.
        step: the number of the first step by which it had happened.
        steps: the numbers of the steps in which it happened, of at most 10,000.
        read: whether the linter finds it, too.
    """

    code: str
    name: str
    place: str
    message: str
    times: int
    step: int
    steps: tuple[int, ...]
    read: bool


@dataclass(frozen=True)
class TensorRange:
    """A tensor in a few words: what it is, its dtype and shape, the largest magnitude in it, and whether all of it is finite."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    largest: float
    finite: bool


@dataclass(frozen=True)
class PassedModule:
    """A module that ran before something else.

    Attributes:
        module: its path, such as `Net.layers.3`.
        kind: its class.
        backward: whether this is the gradient of what it gave.
        given: the largest that it was given; None where that is no floating tensor, or it is the gradient.
        gave: the largest that it gave, or the gradient of that; None where it was still running, or gave no floating tensor.
    """

    module: str
    kind: str
    backward: bool
    given: TensorRange | None
    gave: TensorRange | None


@dataclass(frozen=True)
class FirstNonFinite:
    """The first value that was inf or NaN, and did not go away.

    Attributes:
        step: the number of the step that it belongs to.
        backward: whether it came up in the backward pass.
        module: the path of the innermost module, such as `Net.layers.3.attention`; empty outside of all modules.
        kind: the class of the module.
        place: the user's line, as `file:line`.
        operation: the operation, where operations were watched.
        operands: what went in.
        result: what came out.
        why: the cause in words.
        rule: the code of the rule whose page speaks of it; may be empty.
        before: the modules that ran before it in the same step, in their order; of many the last ones.
    """

    step: int
    backward: bool
    module: str
    kind: str
    place: str
    operation: str
    operands: tuple[TensorRange, ...]
    result: TensorRange
    why: str
    rule: str = ""
    before: tuple[PassedModule, ...] = ()

    @property
    def what(self) -> str:
        """What the value is, where the operation is not known."""
        if self.backward:
            return f"gradient of `{self.result.name}`" if self.result.name else "gradient"
        return self.result.name or "result"


@dataclass(frozen=True)
class ModuleDtypes:
    """In which dtypes a kind of module computed: calls by dtype of what it gave."""

    module: str
    kind: str
    calls: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class LostGradients:
    """The share of a module's gradients that float16 has made zero; `place` is the module's line, as `file:line`."""

    module: str
    place: str
    share: float


@dataclass(frozen=True)
class ScheduleAhead:
    """A schedule that has advanced `ahead` of `advances` times although its optimizer took no step; the place as `file:line`."""

    place: str
    advances: int
    ahead: int


@dataclass
class TraceRecord:
    """A traced run.

    Attributes:
        command: what was run, as one would type it behind `python`.
        device: `cuda`, `cuda-emulated` or `cpu`.
        torch: the version of PyTorch.
        rank: which process of several it was, as `0 of 2`; empty where there is one.
        exit_code: that of the program.
        error: what the program has raised, in one line; empty where it ended well.
        stopped: why the trace ended the program early; empty where it did not.
        steps: the steps; of more than 10,000 a part, evenly spread, with those that were skipped.
        totals: all steps in numbers.
        defects: what happened and should not have.
        first: the first value that was not finite; None where all were.
        dtypes: the dtypes of what modules gave.
        lost: where gradients underflow.
        profile: what one step has spent its time on; None where none could be run again.
        not_again: why a step could not be run again, in words; empty where that was not wanted.
        warnings: what a reader should look at, in sentences.
    """

    command: str
    device: str
    torch: str
    rank: str = ""
    exit_code: int = 0
    error: str = ""
    stopped: str = ""
    steps: list[StepRecord] = field(default_factory=list)
    totals: StepTotals = field(default_factory=StepTotals)
    defects: list[SeenDefect] = field(default_factory=list)
    first: FirstNonFinite | None = None
    dtypes: list[ModuleDtypes] = field(default_factory=list)
    lost: list[LostGradients] = field(default_factory=list)
    profile: StepProfile | None = None
    not_again: str = ""
    warnings: list[str] = field(default_factory=list)
