"""The state of a program on one path: that of the protocol, and the facts that are known beside it.

Both are immutable, share what does not change, and know their hash: equal states merge, and paths settle.
"""

from __future__ import annotations

from collections.abc import Collection

from amplint.model.protocol.contents import Cast, Entered, Truth, Value
from amplint.model.protocol.state import ProtocolState
from amplint.model.protocol.table import Table
from amplint.model.records import frozen
from amplint.model.references import reference


@frozen
class PathFacts:
    """What is known of a path beside the protocol.

    `values`: how a value came about, by its reference; one that was not seen to be computed is not there.
    `truths`: the truth of conditions, by their key.
    `casts`: the weights that are cast and kept: by the outermost region, whichever one they were cast in.
    """

    values: Table[str, Value] = Table()
    truths: Table[str, Truth] = Table()
    casts: frozenset[Cast] = frozenset()

    def value(self, name: str) -> Value | None:
        """How a value, or what it is a part of, came about; None when it was not seen to be computed."""
        return self.values.first(reference(name).wholes)


_NOTHING_DONE, _NOTHING_KNOWN = ProtocolState(), PathFacts()


class PathState:
    """The state of a program on one path.

    Args:
        protocol: what decides what events do.
        facts: what is known beside it.
    """

    __slots__ = ("_fingerprint", "facts", "protocol")

    def __init__(self, protocol: ProtocolState = _NOTHING_DONE, facts: PathFacts = _NOTHING_KNOWN) -> None:
        self.protocol, self.facts = protocol, facts
        self._fingerprint = hash(
            (protocol.fingerprint, facts.values.fingerprint, facts.truths.fingerprint, facts.casts)
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, PathState)
            and self._fingerprint == other._fingerprint
            and self.facts == other.facts
            and self.protocol == other.protocol
        )

    def __hash__(self) -> int:
        return self._fingerprint

    def with_protocol(self, protocol: ProtocolState) -> PathState:
        """The state with other contents of the protocol; itself, where they are the same."""
        return self if protocol is self.protocol else PathState(protocol, self.facts)

    def with_facts(self, facts: PathFacts) -> PathState:
        """The state with other facts; itself, where they are the same."""
        return self if facts is self.facts else PathState(self.protocol, facts)

    def knowing(
        self,
        values: Table[str, Value] | None = None,
        truths: Table[str, Truth] | None = None,
        casts: frozenset[Cast] | None = None,
    ) -> PathState:
        """The state with other facts of some kinds; itself, where they are the same.

        Args:
            values: how losses came about, by reference; None for as before.
            truths: the outcomes of conditions, by key; None for as before.
            casts: the weights that the outermost region keeps; None for as before.
        """
        old = self.facts
        values = old.values if values is None else values
        truths = old.truths if truths is None else truths
        casts = old.casts if casts is None else casts
        if values is old.values and truths is old.truths and casts == old.casts:
            return self
        return PathState(self.protocol, PathFacts(values, truths, casts))

    def entering(self, entered: Entered) -> PathState:
        """The state inside one more region."""
        return self.with_protocol(self.protocol.changed(regions=(*self.protocol.regions, entered)))

    def called_again(self, own: Collection[str]) -> PathState:
        """The state in which a function that has ended so is called again: what stays is the steps, and what is constant.

        Args:
            own: the names of which each call has its own object.
        """
        steps = {
            name: step._replace(earlier=True)
            for name, step in self.protocol.stepped.items()
            if not (step.loops or step.asked) and reference(step.scaler).root not in own
        }
        constant = {key: known for key, known in self.facts.truths.items() if known.loops is None}
        nothing = ProtocolState(), PathFacts()
        protocol = nothing[0].changed(stepped=nothing[0].stepped.put_all(steps), mode=self.protocol.mode)
        return PathState(protocol, PathFacts(truths=nothing[1].truths.put_all(constant)))

    def leaving(self, count: int = 1) -> PathState:
        """The state when the innermost regions end; what only they kept is forgotten."""
        left = self.protocol.regions[:-count]
        kept = any(entered.region.device != "grad" for entered in left)
        after = self if kept else self.knowing(casts=frozenset())
        return after.with_protocol(self.protocol.changed(regions=left))

    def leaving_to(self, depth: int) -> PathState:
        """The state when all regions but the outermost ones end: `depth` of them stay."""
        count = len(self.protocol.regions) - depth
        return self.leaving(count) if count > 0 else self
