"""Functions as calls enter them: what their references mean to the root function, and what of a state their code forgets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

from amplint.model.events import Assign, Event, Scale
from amplint.model.exploration.call_references import Frame
from amplint.model.exploration.flow_graph import Block, FlowGraph
from amplint.model.exploration.joins import join
from amplint.model.exploration.liveness import NOTHING, Death, Liveness
from amplint.model.exploration.summaries import Concern, Summary
from amplint.model.protocol.path_state import PathState
from amplint.model.records import changed


@dataclass(eq=False)
class Activation:
    """A function as one kind of call enters it: its references mean the same in all of them.

    `watched` says that a handler of some caller takes over when it fails.
    """

    frame: Frame
    graph: FlowGraph
    liveness: Liveness
    concern: Concern
    watched: bool = False
    summaries: dict[PathState, Summary] = field(default_factory=dict)
    events: dict[int, Event] = field(default_factory=dict)
    callees: dict[int, Activation] = field(default_factory=dict)
    frames: dict[tuple[int, ...], Frame] = field(default_factory=dict)
    deaths: dict[tuple[int, int], Death] = field(default_factory=dict)
    asked: dict[int, frozenset[str]] = field(default_factory=dict)

    def at(self, block: Block) -> Frame:
        """The frame, inside the loops around a block."""
        if block.loops not in self.frames:
            self.frames[block.loops] = changed(self.frame, loops=(*self.frame.loops, *block.loops))
        return self.frames[block.loops]

    def event(self, block: Block) -> Event:
        """The event of a block, with the references of the root function."""
        if block.number not in self.events:
            assert isinstance(block.step, Event)
            self.events[block.number] = self.frame.event(block.step)
        return self.events[block.number]

    def joined(self, state: PathState) -> PathState:
        """What a state and those of all calls so far know in which the protocol stands as it does there."""
        return reduce(join, (each for each in self.summaries if each.protocol == state.protocol), state)

    def death(self, block: Block, following: Block) -> Death:
        """What dies on the way from a block to the next, as the root function would write it."""
        way = block.number, following.number
        if way not in self.deaths:
            found = self.liveness.death(block, following)
            kinds = (self._own(found.values), self._own(found.soon), self._own(found.ever))
            self.deaths[way] = Death(*kinds) if any(kinds) else NOTHING
        return self.deaths[way]

    def _own(self, needs: frozenset[str]) -> frozenset[str]:
        """Those of some needs that no caller knows, as the root function would write them."""
        own = self.frame.prefix
        return frozenset(name for need in needs if own in (name := self.frame.need(need)))

    def asked_after(self, block: Block) -> frozenset[str]:
        """The needs of what follows a block, as the root function would write them."""
        if block.number not in self.asked:
            self.asked[block.number] = frozenset(map(self.frame.need, self.liveness.asked_after(block)))
        return self.asked[block.number]

    def is_forgotten(self, block: Block) -> bool:
        """Whether nobody ever asks for the value that a block computes."""
        match self.event(block):
            case Assign(target=target, truth=None) | Scale(target=target):
                return self._is_unasked(block.step) or target in self.death(block, block.next[0]).values
        return False

    def _is_unasked(self, step: object) -> bool:
        """Whether the value of an assignment is none that anybody asks for."""
        valued = self.frame.function.valued
        return isinstance(step, (Assign, Scale)) and valued is not None and step.target not in valued

    def survivors(self, states: Iterable[PathState], block: Block, following: Block) -> Iterable[PathState]:
        """The states on the way from a block to the next, without what nothing asks for any more.

        Args:
            states: as the block leaves them.
            block: where they come from.
            following: where they go.
        """
        death = self.death(block, following)
        if death is NOTHING:
            return states
        loops = len(self.at(following).loops)
        return [_without(state, death, loops) for state in states]


def _without(state: PathState, death: Death, loops: int) -> PathState:
    values, truths = state.facts.values, state.facts.truths
    if truths.knows_any(death.soon):
        dead = [
            key
            for key, known in truths.items()
            if key in (death.ever if known.loops is None or len(known.loops) < loops else death.soon)
        ]
        return state.knowing(values.without(death.values), truths.without(dead))
    return state.knowing(values.without(death.values)) if values.knows_any(death.values) else state
