"""Defects that are no hazard of the protocol, and their correct twins, planted at random places of random programs.

A plant is one function with `@plant`, in `plants/`: it puts a defect or its twin into the slots of a scene, and marks the
lines where the rule should speak with the rule's code, in a comment. Its *oracle* says from the runs whether the defect is
there: it knows what PyTorch did, and neither the rule nor what was drawn.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from .grammar import composed
from .layouts import laid_out
from .probing import Sweep
from .program import Program
from .scene import DTYPES, SCALINGS, Scene, scenes
from .showing import Show

Oracle = Callable[[Program, tuple[Show, ...]], bool]
SOWERS: dict[str, Plant] = {}
ELSEWHERE = ("AMP301", "AMP302", "AMP303", "AMP304", "AMP305", "AMP306", "AMP309")
"""The rules about numbers: their lines can stand in another file than the region that they run in."""


@dataclass(frozen=True)
class Plant:
    """How a rule's defect is planted, and who knows whether it is there.

    `sow` changes a scene. `also` are the rules that may speak in this one's place, `observed` says that the oracle looks at
    runs (otherwise it goes by what was drawn), `anywhere` that the rule may speak on unmarked lines. `scalings`, `dtypes` and
    `schedules` are the scenes in which the defect can be.
    """

    code: str
    sow: Callable[[Scene], None]
    oracle: Oracle
    observed: bool = True
    also: frozenset[str] = frozenset()
    anywhere: bool = False
    sweep: Sweep | None = None
    scalings: tuple[str, ...] = SCALINGS
    dtypes: tuple[str, ...] = DTYPES
    schedules: tuple[str, ...] = ("", "", "iteration", "epoch")


def plant(
    code: str, oracle: Oracle, **settings: object
) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """File a plant; `settings` are the fields of `Plant`."""

    def file(sow: Callable[[Scene], None]) -> Callable[[Scene], None]:
        SOWERS[code] = Plant(code, sow, oracle, **settings)  # type: ignore[arg-type]
        return sow

    return file


@dataclass(frozen=True)
class Planted(Program):
    """A program with a plant of one rule."""

    code: str = ""

    @classmethod
    def read(cls, text: str, code: str) -> Planted:
        """A program that was kept; its flags are the parameters of `train`, behind the batches."""
        signature = re.search(r"^def train\(batches(?:, )?(.*)\):$", text, re.MULTILINE)
        assert signature is not None, text
        return cls(text, tuple(filter(None, signature[1].split(", "))), code)

    @property
    def plant(self) -> Plant:
        """How it was planted."""
        return SOWERS[self.code]

    @property
    def rows(self) -> frozenset[int]:
        """The marked lines."""
        lines = enumerate(self.text.splitlines(), 1)
        return frozenset(row for row, line in lines if line.endswith(f"# {self.code}"))


def marked(code: str, line: str) -> str:
    """A line on which a rule should speak, if its defect is there."""
    return f"{line}  # {code}"


@st.composite
def planted(draw: st.DrawFn, codes: tuple[str, ...] = (), files: int = 1) -> Planted:
    """A program with a defect of one of these rules (by default of any), or with its twin.

    Args:
        draw: what makes the choices.
        codes: the rules.
        files: 1, or 2 or 3: the marked lines are then in another file than the loop (see `layouts.py`).
    """
    code = draw(st.sampled_from(sorted(codes or (SOWERS if files == 1 else ELSEWHERE))))
    plant = SOWERS[code]
    scene = scenes(draw, plant.scalings, plant.dtypes, plant.schedules)
    scene.device, scene.slots.raises = "cuda", False
    if len(scene.trained) > 1:
        scene.accumulation = (
            1  # where two models accumulate, one may step in between: PyTorch would end most runs early
        )
    plant.sow(scene)
    layout = laid_out(scene, code, files) if files > 1 else None
    program = composed(scene, mistakes=False)
    program = layout.applied(program) if layout else program
    return Planted(program.text, program.flags, code)


def raised(pattern: str) -> Oracle:
    """The oracle that a run was ended by such an error."""
    return lambda program, shows: any(re.search(pattern, each.error) for each in shows)
