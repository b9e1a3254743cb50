"""A recorder of the protocol: feeds it events by hand, as one that watches real calls would."""

from __future__ import annotations

from collections.abc import Callable

from amplint.model.events import (
    Assign,
    Backward,
    Clip,
    Event,
    ObjectFacts,
    Region,
    Scale,
    ScalerStep,
    ScalerUpdate,
    Unscale,
    ZeroGrad,
)
from amplint.model.protocol.contents import Entered
from amplint.model.protocol.hazards import Hazard
from amplint.model.protocol.path_state import PathState
from amplint.model.protocol.state import ProtocolState
from amplint.model.protocol.transitions import Protocol

HALF = Region("cuda", "float16", "yes")

SCALER = ObjectFacts("scaler", enabled="yes", made=True)
ONE = {"scaler": SCALER, "opt": ObjectFacts("optimizer", ("model",)), "sched": ObjectFacts("scheduler", ("opt",))}
TWO = {
    "scaler": SCALER,
    "opt_g": ObjectFacts("optimizer", ("gen",)),
    "opt_d": ObjectFacts("optimizer", ("disc",)),
}
PLAIN = {"opt": ObjectFacts("optimizer", ("model",))}


class Recorder:
    """Feeds events one after the other; `found` holds the kind and site of each hazard."""

    def __init__(self, objects: dict[str, ObjectFacts] | None = None, nothing_scales: bool = False) -> None:
        self.protocol = Protocol(ONE if objects is None else objects, nothing_scales)
        self.state = PathState()
        self.hazards: list[Hazard] = []

    def feed(self, *events: Event, loops: tuple[int, ...] = ()) -> Recorder:
        for event in events:
            self.state, hazards = self.protocol.apply(self.state, event, loops)
            self.hazards.extend(hazards)
        return self

    def enter(self, *regions: Region, loops: int = 0) -> Recorder:
        for region in regions:
            self.state = self.state.entering(Entered(region, 900 + len(self.state.protocol.regions), loops))
        return self

    def leave(self) -> Recorder:
        self.state = self.state.leaving()
        return self

    def mode(self, on: bool) -> Recorder:
        self.state = self.state.with_protocol(self.state.protocol.changed(mode=on))
        return self

    def settle(self, tell: Callable[[ProtocolState], ProtocolState]) -> Recorder:
        self.state = self.state.with_protocol(tell(self.state.protocol))
        return self

    @property
    def found(self) -> list[tuple[str, int]]:
        return [(hazard.kind, hazard.site) for hazard in self.hazards]


def forward(target: str = "loss", site: int = 1) -> Assign:
    return Assign(site, target, (), ("batch",), computes=True)


def scaled(site: int = 2, loss: str = "loss", scaler: str = "scaler") -> tuple[Event, ...]:
    return forward(loss), Scale(site, f"%{site}", scaler, loss), Backward(site, f"%{site}")


def plain(site: int = 2, loss: str = "loss") -> tuple[Event, ...]:
    return forward(loss), Backward(site, loss)


UNSCALE, STEP, UPDATE = Unscale(3, "scaler", "opt"), ScalerStep(5, "scaler", "opt"), ScalerUpdate(6, "scaler")
CLIP = Clip(4, ("model",), limit="1.0")
ZERO = ZeroGrad(0, "opt")
