"""What a random program has to do with: its objects, their names, and its flags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import strategies as st

from .code import Code, Line

T = TypeVar("T")


@dataclass(frozen=True)
class Trained:
    """A model with what trains it."""

    model: str
    optimizer: str
    loss: str
    scaler: str


@dataclass
class Scene:
    """The choices that all parts of a program share.

    `scaling` is "always", "flag" (`enabled=amp`), "optional" (None without AMP) or "absent"; `helpers` collects the
    functions that shapes put aside, `methods` those of a class; `flags` are the parameters of `train`.
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
    setup: list[Line] = field(default_factory=list)

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
    def mode(self) -> str:
        """The condition that says that AMP is on, where the scaler is optional."""
        return "amp"

    @property
    def scalers(self) -> tuple[str, ...]:
        """The scalers, each once."""
        return tuple(dict.fromkeys(each.scaler for each in self.trained if each.scaler))

    def region(self) -> str:
        """The expression that makes the autocast context."""
        enabled = ", enabled=amp" if self.scaling in ("flag", "optional") else ""
        return f'torch.autocast("cpu", dtype=torch.{self.dtype}{enabled})'


def scenes(draw: st.DrawFn) -> Scene:
    """Draw a scene."""
    count = draw(st.sampled_from((1, 1, 1, 2)))
    scaling = draw(st.sampled_from(("always", "flag", "optional", "always", "absent")))
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
        draw(st.sampled_from(("float16", "float16", "bfloat16"))),
        draw(st.sampled_from((1, 1, 2, 3))),
        draw(st.sampled_from(("", "", "iteration", "epoch"))),
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
        code.append(f"{each.model} = torch.nn.Linear(2, 1)")
        code.append(f"{each.optimizer} = torch.optim.{kind}({each.model}.parameters(), lr=0.01)")
    for scaler in scene.scalers:
        code.append(f"{scaler} = {_scaler(scene)}")
    if scene.scheduled:
        code.append(f"scheduler = torch.optim.lr_scheduler.StepLR({scene.trained[-1].optimizer}, 100)")
    return (*code, *scene.setup)


def _scaler(scene: Scene) -> str:
    match scene.scaling:
        case "flag":
            return 'torch.amp.GradScaler("cpu", enabled=amp)'
        case "optional":
            return 'torch.amp.GradScaler("cpu") if amp else None'
    return 'torch.amp.GradScaler("cpu")'
