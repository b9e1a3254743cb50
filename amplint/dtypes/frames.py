"""Where the dtype flow stands: the variables of a scope, and the regions around it."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from amplint.dtypes.lattice import join_values
from amplint.dtypes.values import Instance, Value
from amplint.model.events import Region
from amplint.model.records import changed
from amplint.model.torch.precision import DEFAULT_DTYPE, EITHER_HALF, FLOAT16, FLOAT32, FLOAT64


@dataclass(eq=False)
class StackFrame:
    """One evaluation of a function body or of the module.

    Attributes:
        scope: the function or module.
        variables: what its names hold at this point.
        parent: the frame that the function was defined in.
        regions: the contexts entered so far, callers' included, outermost first.
        loss: whether the code is a loss by construction, or called by one.
        depth: how many calls deep.
        alive: False behind a `return`, `raise`, `break` or `continue`.
        returned: the values of its returns so far.
        this: the object whose method it is.
        constants: the parameters of which a call says that they are None, True or False, by that word or by leaving them at such
            a default, each with that.
        known_tests: the answers to the tests that names stand for, by the identity of what was assigned to them.
        without_amp: what names hold where AMP is off, with what they hold where it is on.
        left_with_amp: whether nothing comes this far where AMP is on.
        settled: the last of the regions that were asked about, with the one in effect, and whether gradients are recorded.
    """

    scope: cst.CSTNode
    variables: dict[str, Value] = field(default_factory=dict)
    parent: StackFrame | None = None
    regions: tuple[Region, ...] = ()
    loss: bool = False
    depth: int = 0
    alive: bool = True
    returned: list[Value] = field(default_factory=list)
    this: Instance | None = None
    constants: frozenset[tuple[str, str]] = frozenset()
    known_tests: dict[int, bool | None] = field(default_factory=dict)
    without_amp: dict[str, tuple[Value, Value]] = field(default_factory=dict)
    left_with_amp: bool = False
    settled: tuple[tuple[Region, ...], Region | None, bool] = ((), None, True)

    def lookup(self, name: str) -> Value | None:
        """What a name holds, in this frame or in those around it."""
        frame: StackFrame | None = self
        while frame is not None:
            if name in frame.variables:
                return frame.variables[name]
            frame = frame.parent
        return None

    def merge(self, before: dict[str, Value], branches: list[tuple[dict[str, Value], bool]]) -> None:
        """Continue with what holds after any of the branches that were not left early.

        Args:
            before: the variables as they were where the branches part.
            branches: the variables at the end of each branch, and whether its end is reached.
        """
        living = [variables for variables, alive in branches if alive]
        self.alive = bool(living)
        merged = dict(living[0]) if living else before
        for other in living[1:]:
            for name, value in other.items():
                merged[name] = join_values(merged[name], value) if name in merged else value
        self.variables = merged

    def merge_with_amp(self, with_amp: dict[str, Value], plain: dict[str, Value]) -> None:
        """Continue with what holds where AMP is on, and keep what holds where it is off.

        Args:
            with_amp: the variables at the end of the branch that is taken where it is on.
            plain: those at the end of the other one.
        """
        differing = {name: (plain[name], value) for name, value in with_amp.items() if plain.get(name, value) != value}
        self.without_amp = {**self.without_amp, **differing}
        self.variables, self.alive = {**plain, **with_amp}, True

    def plain(self, variables: dict[str, Value]) -> dict[str, Value]:
        """Variables as they are where AMP is off.

        Args:
            variables: those where it is on.
        """
        held = {name: off for name, (off, on) in self.without_amp.items() if variables.get(name) == on}
        return {**variables, **held}

    @property
    def region(self) -> Region | None:
        """The autocast region in effect: for each device type the innermost decides."""
        return self._settled[1]

    @property
    def _settled(self) -> tuple[tuple[Region, ...], Region | None, bool]:
        # Every operation asks, and most stand in the same regions as the last one.
        if self.settled[0] is not self.regions:
            differentiates = all(region.device != "grad" for region in self.regions)
            self.settled = self.regions, _in_effect(self.regions), differentiates
        return self.settled

    @property
    def widens(self) -> bool:
        """Whether what a model gives back that is called here may have been made float32: see `Region.widens`."""
        return bool(self.regions) and any(region.widens for region in self.regions)

    @property
    def differentiates(self) -> bool:
        """Whether gradients are recorded."""
        return self._settled[2]


def _in_effect(regions: tuple[Region, ...]) -> Region | None:
    shadowed: set[str] = set()
    for region in reversed(regions):
        if region.device == "grad" or region.device in shadowed:
            continue
        if _takes_effect(region):
            return _assumed(region)
        if region.device == "?":
            return None
        shadowed.add(region.device)
    return None


def _takes_effect(region: Region) -> bool:
    """Whether a region is on: on CUDA one of float32 is, too, and casts to float32; other devices disable it."""
    return region.enabled != "no" and (region.dtype not in (FLOAT32, FLOAT64) or region.device in ("cuda", "?"))


def _assumed(region: Region) -> Region:
    # A device chosen at run time is a GPU on some run, above all where float16 is asked for.
    if region.device in DEFAULT_DTYPE or region.dtype not in (FLOAT16, EITHER_HALF):
        return region
    return changed(region, device="cuda")
