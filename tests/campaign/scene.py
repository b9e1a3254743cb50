"""What a random program has to do with: its objects, their names, and its flags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st

from .code import Code, Line, Move

T = TypeVar("T")
SCALINGS = ("always", "flag", "optional", "always", "absent")
DTYPES = ("float16", "float16", "bfloat16")


@dataclass(frozen=True)
class Trained:
    """A model with what trains it."""

    model: str
    optimizer: str
    loss: str
    scaler: str


@dataclass
class Slots:
    """Where plants (see `planting.py`) put their code; a program without plants leaves all of them as they are.

    `model` makes the first model, and `made` stands behind all constructions. `first` begins an iteration, `epoch` an epoch,
    `last` comes after the loops. `inside` and `behind` stand in and after the region of the first forward pass; `around` makes
    the code of a forward pass of its body. `edit` has the last word about the moves. `gate` compares the scales before the
    scheduler moves; `gated` says that something does. `scaler_in` is where the scaler is made: "" (before the loops), "step",
    "epoch", "function"; `folds` trains all anew in a loop. `raises` says that clips may end the run.
    """

    made: list[Line] = field(default_factory=list)
    inside: list[Line] = field(default_factory=list)
    behind: list[Line] = field(default_factory=list)
    first: list[Line] = field(default_factory=list)
    epoch: list[Line] = field(default_factory=list)
    last: list[Line] = field(default_factory=list)
    around: Callable[[Code], Code] | None = None
    edit: Callable[[list[Move]], list[Move]] | None = None
    gate: str = "{} >= scale_before"
    gated: bool = False
    model: str = "torch.nn.Linear(2, 1)"
    scaler_in: str = ""
    folds: bool = False
    raises: bool = True


@dataclass
class Scene:
    """The choices that all parts of a program share.

    `scaling` is "always", "flag" (`enabled=amp`), "optional" (None without AMP) or "absent". `flags` are the parameters of
    `train`. `helpers` are the functions (methods, in a class) that shapes put aside, `functions` those of the module in any
    case; `setup` is what they need before the loop. `wrapped` says that the scaler is hidden in a `loss_scaler`.
    """

    draw: st.DrawFn
    trained: tuple[Trained, ...]
    scaling: str
    dtype: str
    accumulation: int
    scheduled: str
    in_class: bool
    flags: list[str] = field(default_factory=list)
    helpers: list[Line] = field(default_factory=list)
    functions: list[Line] = field(default_factory=list)
    setup: list[Line] = field(default_factory=list)
    wrapped: bool = False
    device: str = "cpu"
    slots: Slots = field(default_factory=Slots)

    def chance(self, percent: int) -> bool:
        """Whether something happens; it does not, in the simplest program."""
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        """One of several; the first in the simplest program."""
        return self.draw(st.sampled_from(list(options)))

    def span(self, length: int, first: int = 0) -> tuple[int, int]:
        """A range of positions that is not empty."""
        start = self.draw(st.integers(first, length - 1))
        return start, self.draw(st.integers(start + 1, length))

    def draw_int(self, low: int, high: int) -> int:
        """A number from `low` to `high`; `low` in the simplest program."""
        return self.draw(st.integers(low, high))

    def flag(self, name: str) -> str:
        """A parameter of the program."""
        if name not in self.flags:
            self.flags.append(name)
        return name

    @property
    def scalers(self) -> tuple[str, ...]:
        """The scalers, each once."""
        return tuple(dict.fromkeys(each.scaler for each in self.trained if each.scaler))


def scenes(
    draw: st.DrawFn,
    scalings: Sequence[str] = SCALINGS,
    dtypes: Sequence[str] = DTYPES,
    schedules: Sequence[str] = ("", "", "iteration", "epoch"),
) -> Scene:
    """Draw a scene, out of some choices."""
    count = draw(st.sampled_from((1, 1, 1, 2)))
    scaling = draw(st.sampled_from(scalings))
    several = count == 2 and draw(st.booleans())
    suffixes = ("",) if count == 1 else ("_g", "_d")
    trained = tuple(
        Trained(
            f"model{each}",
            f"optimizer{each}",
            f"loss{each}",
            "" if scaling == "absent" else f"scaler{each if several else ''}",
        )
        for each in suffixes
    )
    scene = Scene(
        draw,
        trained,
        scaling,
        draw(st.sampled_from(dtypes)),
        draw(st.sampled_from((1, 1, 2, 3))),
        draw(st.sampled_from(schedules)),
        draw(st.sampled_from((False, False, True))),
    )
    if scaling in ("flag", "optional"):
        scene.flag("amp")
    return scene


def constructions(scene: Scene) -> Code:
    """The code that makes the objects."""
    code: list[Line] = []
    for each in scene.trained:
        kind = scene.pick(("SGD", "Adam", "AdamW"))
        made = scene.slots.model if each is scene.trained[0] else "torch.nn.Linear(2, 1)"
        code.append(f"{each.model} = {made}")
        code.append(f"{each.optimizer} = torch.optim.{kind}({each.model}.parameters(), lr=0.01)")
    for scaler in () if scene.slots.scaler_in else scene.scalers:
        code.append("loss_scaler = LossScaler()" if scene.wrapped else f"{scaler} = {new_scaler(scene)}")
    if scene.scheduled:
        code.append(f"scheduler = torch.optim.lr_scheduler.StepLR({scene.trained[-1].optimizer}, 100)")
    return (*code, *scene.slots.made)


def new_scaler(scene: Scene) -> str:
    """The expression that makes a scaler."""
    match scene.scaling:
        case "flag":
            return f'torch.amp.GradScaler("{scene.device}", enabled=amp)'
        case "optional":
            return f'torch.amp.GradScaler("{scene.device}") if amp else None'
    return f'torch.amp.GradScaler("{scene.device}")'
