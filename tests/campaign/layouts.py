"""Programs of two and three files: the marked lines stand in `losses.py`, the region that they run in is entered elsewhere.

Of two files, the loop calls a function or an object of the other. Of three, either `main.py` makes the object and hands it to
the loop, or the function is reached through `helpers.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .code import Block, Code, Line, rendered, words
from .program import Program
from .scene import Scene

_GIVEN = ("out", "other")
_LOSS = "criterion = torch.nn.BCELoss()"
"""What a plant makes before the loop; it goes with the lines that call it."""


@dataclass(frozen=True)
class Way:
    """How the loop reaches the lines.

    `call` is what stands in their place, `imports` is a line of the loop's file, `made` one before the loop. `handed` makes
    the `criterion` that `main.py` hands over. `through` says that `helpers.py` stands between. The lines are in a class where
    an object is called, and in a function otherwise.
    """

    call: str
    imports: str = ""
    made: str = ""
    handed: str = ""
    through: bool = False
    of_class: bool = True


WAYS = {
    2: (
        Way("measure", "from losses import measure", of_class=False),
        Way("losses.measure", "import losses", of_class=False),
        Way("Measure()", "from losses import Measure"),
        Way("criterion", "from losses import Measure", made="criterion = Measure()"),
        Way("criterion", "from losses import build_criterion", made="criterion = build_criterion()"),
    ),
    3: (
        Way("criterion", handed="Measure"),
        Way("criterion", handed="build_criterion"),
        Way("combined", "from helpers import combined", through=True, of_class=False),
    ),
}
"""By the number of files."""


@dataclass(frozen=True)
class Layout:
    """The lines that stand in another file than the loop, the names that they are given, and the way to them."""

    lines: Code
    given: tuple[str, ...]
    way: Way

    def applied(self, loop: Program) -> Program:
        """The whole program.

        Args:
            loop: what is left of it, with a call in the place of the lines.
        """
        way, flags = self.way, tuple(name for name in loop.flags if name != "criterion")
        files = {"losses": self._losses()}
        if way.through:
            given = ", ".join(self.given)
            combined = Block(f"def combined({given}):", (f"return measure({given})",))
            files["helpers"] = _file("from losses import measure", combined)
        files["engine"] = f"{way.imports}\n{loop.text}" if way.imports else loop.text
        if way.handed:
            call = f"engine.train({', '.join(('batches', *loop.flags))})"
            entry = Block(f"def train({', '.join(('batches', *flags))}):", (f"criterion = {way.handed}()", call))
            files["main"] = _file(f"import engine\nfrom losses import {way.handed}", entry)
        return Program("".join(f"# file: {name}.py\n{text}" for name, text in files.items()), flags)

    def _losses(self) -> str:
        made = (_LOSS,) if "criterion" in words(self.lines) else ()
        body: Code = (*self.lines, "return term")
        if not self.way.of_class:
            return _file("import torch", *made, Block(f"def measure({', '.join(self.given)}):", body))
        forward = Block(f"def forward({', '.join(('self', *self.given))}):", body)
        build = Block("def build_criterion():", ("return Measure()",))
        return _file("import torch", *made, Block("class Measure(torch.nn.Module):", (forward,)), build)


def laid_out(scene: Scene, code: str, files: int) -> Layout:
    """Take the lines that are marked for a rule out of a scene, and leave a call in their place."""
    way = scene.pick(WAYS[files])
    slots = scene.slots
    lines = (*_marked(slots.inside, code), *_marked(slots.behind, code))
    given = tuple(name for name in _GIVEN if name in words(lines))
    call = f"term = {way.call}({', '.join(given)})"
    slots.inside = [*_without(slots.inside, code, call)]
    slots.behind = [*_without(slots.behind, code, call)]
    scene.setup = [line for line in scene.setup if line != _LOSS]
    if way.made:
        scene.setup.append(way.made)
    if way.handed:
        scene.flag("criterion")
    return Layout(lines, given, way)


def _marked(lines: Code | list[Line], code: str) -> Iterator[Line]:
    for line in lines:
        if isinstance(line, Block):
            yield from _marked(line.body, code)
        elif line.endswith(f"# {code}"):
            yield line


def _without(lines: Code | list[Line], code: str, call: str) -> Iterator[Line]:
    """Lines with a call for those that are marked, which are neighbours."""
    called = False
    for line in lines:
        if isinstance(line, Block):
            yield Block(line.head, tuple(_without(line.body, code, call)))
        elif not line.endswith(f"# {code}"):
            yield line
        elif not called:
            called = True
            yield call


def _file(imports: str, *statements: Line) -> str:
    return imports + "\n" + "".join(f"\n\n{rendered((each,))}" for each in statements)
