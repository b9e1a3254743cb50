"""The state of the protocol: one flat, immutable mapping of slots, so that equal states merge and paths settle.

("grad", optimizer)     what the gradients hold that this optimizer will use; "*" stands for optimizers not met yet
("stage", scaler, opt)  what the scaler has done for the optimizer since its last update
("value", reference)    how a loss came about: scaled by which scaler, computed in which precision
("regions",)            the stack of autocast and no-grad regions
("casts",)              the weights that the outermost of them has cast and keeps
("stepped", optimizer)  the last scaler step, while nothing has asked yet whether it was skipped
("untested",)           `unscale_` ran, and nothing has asked yet whether it met an overflow
("mode",)               whether this path runs with AMP on, once a condition has decided it
("test", key)           the truth of other conditions that are met again
("once", key)           the same (`Once`), for conditions that may change from one iteration to the next
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from amplint.model.events import Region

Slot = tuple[str, ...]
ANY = "*"


@dataclass(frozen=True)
class Part:
    """One contribution to a gradient: "scaled" by `scaler`, "plain", or "unknown"; `half` when the graph ran in float16."""

    kind: str
    site: int = -1
    scaler: str = ""
    half: bool = False


@dataclass(frozen=True)
class Grad:
    """What gradients hold: the contributions since they were cleared, and the site of `unscale_`, if it ran.

    `stepped`: an optimizer has used them. `updated_at` is the site of an update that the scaler took since, although no
    step has used them. `onto_unscaled`: the contributions came on top of gradients that were unscaled and not used.
    `cleared`: the gradients were set to None before a step used them; the sites of a scaled contribution, and of that.
    """

    parts: frozenset[Part] = frozenset()
    unscaled_at: int = -1
    stepped: bool = False
    updated_at: int = -1
    onto_unscaled: bool = False
    cleared: tuple[int, int] = (-1, -1)

    @property
    def kinds(self) -> set[str]:
        """The kinds of contribution; empty for cleared gradients."""
        return {part.kind for part in self.parts}

    @property
    def still_scaled(self) -> bool:
        """Whether all that these gradients hold is scaled, and nothing has unscaled it."""
        return self.kinds == {"scaled"} and self.unscaled_at < 0

    def is_of(self, scaler: str) -> bool:
        """Whether there are contributions, and this scaler has scaled all of them."""
        return bool(self.parts) and all(part.kind == "scaled" and part.scaler == scaler for part in self.parts)


UNKNOWN_GRAD = Grad(frozenset({Part("unknown")}))


@dataclass(frozen=True)
class Stage:
    """What a scaler has done last for an optimizer, "unscaled" or "stepped", and where; "bypassed" once the optimizer has
    taken the unscaled gradients without the scaler.

    `left_at` is where the program went away from there before a step or an update, and `bad` is why (see `Leave`).
    `tested` once the program has asked whether what was unscaled is finite, so that a step to come is not skipped unawares.
    """

    name: str
    site: int
    left_at: int = -1
    bad: bool = False
    tested: bool = False


@dataclass(frozen=True)
class Value:
    """A value that may become a loss: `scaler` that scaled it ("?" unknown, "" none), `half` as in `Part`.

    `derived` says that it comes from gradients, or by calls from what was scaled: whether it is scaled then cannot be told.
    """

    scaler: str = "?"
    half: bool = False
    derived: bool = False


@dataclass(frozen=True)
class Cast:
    """Weights that a region has cast and keeps: for which `use` of them, and the step that has changed them since."""

    use: str
    stale_at: int = -1


@dataclass(frozen=True)
class Entered:
    """A region on the stack: where it was entered, and inside how many loops."""

    region: Region
    site: int
    loops: int


@dataclass(frozen=True)
class Stepped:
    """A scaler step: whose, where, in which loops (their sites, outermost first)."""

    scaler: str
    optimizer: str
    site: int
    loops: tuple[int, ...]


_GRADIENT = re.compile(r"(^|[\W_])(grad|gradient)s?(\[[^\]]*\])*$")
_GRADIENT_FLAG = re.compile(
    r"(^|[\W_])(requires?|needs?|no|use|uses|is|has|with|enable|set|zero|compute)_(grad|gradient)s?$"
)


def is_gradient(reference: str) -> bool:
    """Whether a reference is named as gradients are: `x.grad`, `cached_grads[0]`."""
    return _GRADIENT.search(reference) is not None and _GRADIENT_FLAG.search(reference) is None


def whole_of(reference: str) -> str:
    """What a reference is a part of: `outputs` for `outputs.loss` and for `outputs[0]`; empty for the whole."""
    return reference[: max(reference.rfind("."), reference.rfind("["), 0)]


@dataclass(frozen=True)
class Once:
    """The truth of a condition, and the loops (their sites, outermost first) in an iteration of which it was asked."""

    truth: bool
    loops: tuple[int, ...] = ()


_PROTOCOL = ("grad", "stage", "regions", "stepped", "untested", "mode")
"""The kinds of slots that decide what events do; the others are what is known beside that."""


class State:
    """An immutable mapping of slots, kept by their kind (the first member of a slot); equal when all slots are."""

    __slots__ = ("_hash", "_kinds", "_protocol")

    def __init__(self, kinds: Mapping[str, Mapping[Slot, object]] | None = None, hash_: int = 0) -> None:
        self._kinds: Mapping[str, Mapping[Slot, object]] = kinds or {}
        self._hash = hash_
        self._protocol: object | None = None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, State) and self._hash == other._hash and self._kinds == other._kinds

    def __hash__(self) -> int:
        return self._hash

    def get(self, *slot: str) -> object | None:
        """The content of a slot; None when it is empty."""
        slots = self._kinds.get(slot[0])
        return slots.get(slot) if slots else None

    def having(self, kind: str) -> list[tuple[Slot, object]]:
        """All filled slots of one kind."""
        slots = self._kinds.get(kind)
        return list(slots.items()) if slots else []

    def all(self) -> Iterator[tuple[Slot, object]]:
        """All filled slots."""
        for slots in self._kinds.values():
            yield from slots.items()

    @property
    def protocol_kinds(self) -> list[str]:
        """The kinds of slots that are filled and decide what events do."""
        return [kind for kind in _PROTOCOL if kind in self._kinds]

    def protocol(self) -> object:
        """What decides what events do; equal for states that differ only in what is known beside that."""
        if self._protocol is None:
            kinds = self._kinds
            self._protocol = tuple((kind, frozenset(kinds[kind].items())) for kind in self.protocol_kinds)
        return self._protocol

    def put(self, changes: Mapping[Slot, object | None]) -> State:
        """The state with some slots changed; None empties a slot."""
        changed: dict[str, dict[Slot, object]] = {}
        hash_ = self._hash
        for slot, content in changes.items():
            kind = slot[0]
            before = changed[kind] if kind in changed else self._kinds.get(kind, {})
            old = before.get(slot)
            if old is content or old == content:
                continue
            after = changed.setdefault(kind, dict(before))
            if old is not None:
                hash_ ^= hash((slot, old))
            if content is None:
                del after[slot]
            else:
                hash_ ^= hash((slot, content))
                after[slot] = content
        if not changed:
            return self
        kinds = {**self._kinds, **changed}
        return State({kind: slots for kind, slots in kinds.items() if slots}, hash_)

    # -- what the slots mean ---------------------------------------------------------------------------------------

    def grad(self, optimizer: str) -> Grad:
        """The gradients that an optimizer will use."""
        for name in (optimizer, ANY):
            found = self.get("grad", name)
            if isinstance(found, Grad):
                return found
        return UNKNOWN_GRAD

    def grads(self) -> dict[str, Grad]:
        """The gradients of every optimizer met so far, and of the others (`ANY`)."""
        known = {slot[1]: content for slot, content in self.having("grad") if isinstance(content, Grad)}
        return {ANY: UNKNOWN_GRAD, **known}

    def stage(self, scaler: str, optimizer: str) -> Stage | None:
        """What a scaler has done for an optimizer since its last update."""
        found = self.get("stage", scaler, optimizer)
        return found if isinstance(found, Stage) else None

    def stages(self, scaler: str) -> list[Slot]:
        """The optimizers (as slots) for which a scaler has done anything since its last update."""
        return [slot for slot, _ in self.having("stage") if slot[1] == scaler]

    def value(self, reference: str) -> Value | None:
        """How a value, or what it is a part of, came about; None when it was not seen to be computed."""
        while reference:
            found = self.get("value", reference)
            if isinstance(found, Value):
                return found
            reference = whole_of(reference)
        return None

    @property
    def regions(self) -> tuple[Entered, ...]:
        """The stack of regions, outermost first."""
        found = self.get("regions")
        return found if isinstance(found, tuple) else ()

    @property
    def amp_off(self) -> bool:
        """Whether this path was taken because AMP is off: its scalers are disabled or None."""
        return self.get("mode") is False

    def active_region(self) -> Entered | None:
        """The region that decides the precision here: the innermost of a device that is not switched off again."""
        by_device: dict[str, Entered] = {}
        for entered in self.regions:
            if entered.region.device != "grad":
                by_device.pop(entered.region.device, None)
                by_device[entered.region.device] = entered
        lowering = [entered for entered in by_device.values() if entered.region.lowers]
        return lowering[-1] if lowering else None

    @property
    def lowers(self) -> bool:
        """Whether operations run in half precision here, as far as the path tells."""
        active = self.active_region()
        return active is not None and not (self.amp_off and active.region.enabled == "maybe")

    def keeping_region(self) -> Entered | None:
        """The region that keeps what is cast here, also where it is itself switched off; None where none does."""
        around = [entered for entered in self.regions if entered.region.device != "grad"]
        return around[0] if around and all(entered.region.cached for entered in around) else None

    @property
    def casts(self) -> frozenset[Cast]:
        """The weights that are cast and kept: by the outermost region, whichever one they were cast in."""
        found = self.get("casts")
        return found if isinstance(found, frozenset) else frozenset()

    def entering(self, entered: Entered) -> State:
        """The state inside one more region."""
        return self.put({("regions",): (*self.regions, entered)})

    def leaving(self, count: int = 1) -> State:
        """The state when the innermost regions end."""
        left = self.regions[:-count]
        kept = any(entered.region.device != "grad" for entered in left)
        return self.put({("regions",): left or None, **({} if kept else {("casts",): None})})

    def leaving_to(self, depth: int) -> State:
        """The state when all regions but the outermost ones end: `depth` of them stay."""
        return self.leaving(len(self.regions) - depth) if len(self.regions) > depth else self

    @property
    def records_graph(self) -> bool:
        """Whether operations are recorded for backward (no `no_grad` around)."""
        return all(entered.region.device != "grad" for entered in self.regions)
