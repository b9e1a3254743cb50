"""What the state of the protocol says of single things: a gradient, a scaler's stage, a value, a region, a condition."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from amplint.model.events import Region
from amplint.model.records import NamedTuple

UNKNOWN_SCALER = "?"
"""Some scaler, or none: nobody can tell."""
PERHAPS, SURELY = 1, 2
"""Whether a graph ran in float16: in a region that a flag switches on, or in one that is always on; 0 for neither."""


class Part(NamedTuple):
    """One contribution to a gradient: "scaled" by `scaler`, "plain", or "unknown"; `half` when the graph ran in float16:
    `PERHAPS` or `SURELY`."""

    kind: str
    site: int = -1
    scaler: str = ""
    half: int = 0


class EarlyUse(NamedTuple):
    """A use of gradients of which nobody saw what they hold: which hazard it is if they were scaled, where, and its details."""

    kind: str
    site: int
    details: tuple[str, ...] = ()


class Grad(NamedTuple):
    """What gradients hold: the contributions since they were cleared, and the site of `unscale_`, if it ran.

    `stepped`: an optimizer has used them, `by_scaler` if a scaler has handed them to it. `updated_at` is the site of an
    update that the scaler took since, although no step has used them. `onto_unscaled`: the contributions came on top of
    gradients that were unscaled and not used.
    `cleared`: the gradients were set to None before a step used them; the sites of a scaled contribution, and of that.
    `used`: the first use of each kind that was made of unknown gradients, which whoever unscales them later shows to be early.
    """

    parts: frozenset[Part] = frozenset()
    unscaled_at: int = -1
    stepped: bool = False
    updated_at: int = -1
    onto_unscaled: bool = False
    cleared: tuple[int, int] = (-1, -1)
    used: frozenset[EarlyUse] = frozenset()
    by_scaler: bool = False

    def contributions(self, more: Iterable[Part]) -> frozenset[Part]:
        """The parts with more of them: of plain ones all count, of others the first place of each kind."""
        first: dict[object, Part] = {}
        for part in (*self.parts, *more):
            key = part if part.kind == "plain" else (part.kind, part.scaler, part.half)
            known = first.get(key)
            if known is None or part.site < known.site:
                first[key] = part
        return frozenset(first.values())

    @property
    def kinds(self) -> set[str]:
        """The kinds of contribution; empty for cleared gradients."""
        return {part.kind for part in self.parts}

    @property
    def is_unknown(self) -> bool:
        """Whether nobody saw what they hold, and nothing has unscaled or used them since."""
        return self.kinds == {"unknown"} and self.unscaled_at < 0 and not self.stepped

    def using(self, use: EarlyUse) -> Grad:
        """The same gradients after a use; itself, where one of its kind was made before."""
        return self if any(each.kind == use.kind for each in self.used) else self._replace(used=self.used | {use})

    @property
    def still_scaled(self) -> bool:
        """Whether all that these gradients hold is scaled, and nothing has unscaled it."""
        return self.kinds == {"scaled"} and self.unscaled_at < 0

    def is_of(self, scaler: str) -> bool:
        """Whether there are contributions, and this scaler has scaled all of them."""
        return bool(self.parts) and all(part.kind == "scaled" and part.scaler == scaler for part in self.parts)

    @property
    def without_places(self) -> object:
        """As far as it decides on hazards, and not on where they are told."""
        parts = _without_sites(self.parts)
        marks = (self.unscaled_at >= 0, self.updated_at >= 0, self.cleared[1] >= 0, bool(self.used))
        return (parts, *marks, self.stepped, self.onto_unscaled, self.by_scaler)


@lru_cache(maxsize=1024)
def _without_sites(parts: frozenset[Part]) -> frozenset[tuple[str, str, int]]:
    return frozenset((part.kind, part.scaler, part.half) for part in parts)


UNKNOWN_GRAD = Grad(frozenset({Part("unknown")}))


class Stage(NamedTuple):
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

    @property
    def without_places(self) -> object:
        """As far as it decides on hazards, and not on where they are told."""
        return (self.name, self.left_at >= 0, self.bad, self.tested)


Asked = tuple[str, int]
"""A branch whose condition may have asked whether a step was skipped: the prefix of its call, and its number there."""


class Stepped(NamedTuple):
    """A step: of which scaler (empty: past all of them) and optimizer, where, in which loops (their sites, outermost first).

    `asked` are the branches in which the program is now that may have asked whether the step was skipped. `earlier` once the
    iteration is over in which it was taken.
    """

    scaler: str
    optimizer: str
    site: int
    loops: tuple[int, ...]
    asked: frozenset[Asked] = frozenset()
    earlier: bool = False

    @property
    def without_places(self) -> object:
        """As far as it decides on hazards, and not on where they are told."""
        return (self.scaler, self.optimizer, self.loops, self.asked, self.earlier)


class Entered(NamedTuple):
    """A region on the stack: where it was entered, and inside how many loops."""

    region: Region
    site: int
    loops: int


class Value(NamedTuple):
    """A value that may become a loss: `scaler` that scaled it ("" for none), `half` as in `Part`.

    `derived` says that it comes from gradients, or by calls from what was scaled: whether it is scaled then cannot be told.
    `number` says that it is a number of Python, which makes a loss neither scaled nor unscaled, and is none by itself.
    """

    scaler: str = UNKNOWN_SCALER
    half: int = 0
    derived: bool = False
    number: bool = False

    @property
    def is_scaled(self) -> bool:
        """Whether a scaler has scaled it, which is known."""
        return self.scaler not in ("", UNKNOWN_SCALER)


class Truth(NamedTuple):
    """The truth of a condition, for as long as nothing in it is assigned.

    `loops` are the loops (their sites, outermost first) in an iteration of which it was asked, when it may come out otherwise in
    the next one; None for what is constant. `after_step` as in `Assign`.
    """

    truth: bool
    loops: tuple[int, ...] | None = None
    after_step: bool = False


class Cast(NamedTuple):
    """Weights that a region has cast and keeps: for which `use` of them, and the step that has changed them since."""

    use: str
    stale_at: int = -1
