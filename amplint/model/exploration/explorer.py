"""Runs the protocol over every feasible path of a function.

A worklist over the blocks of its control-flow graph: the states that can hold at a point are carried along together. A
condition that is met again takes the same side, unless a reference in it was assigned in between. What nobody asks for any
more is forgotten (`liveness`), and where many states meet, those in which the protocol stands alike become one (`joins`), so
that the cost is that of protocol states times blocks. Functions that are called are worked out once for each state that
matters to them (`summaries`).
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush

from amplint.model.event_graph import Function
from amplint.model.events import Assign, Clip, Event, ObjectFacts, Scale
from amplint.model.exploration.activations import Activation
from amplint.model.exploration.branch_decisions import Conditions, assigned
from amplint.model.exploration.effects import Flows
from amplint.model.exploration.flow_graph import Block
from amplint.model.exploration.graph_runner import GraphRunner, Run, Ways
from amplint.model.exploration.joins import Point
from amplint.model.exploration.step_rhythm import rhythm_of
from amplint.model.exploration.summaries import Summary
from amplint.model.protocol.hazard import Hazard
from amplint.model.protocol.path_state import PathState
from amplint.model.protocol.transitions import Protocol
from amplint.model.records import changed
from amplint.model.references import key_of

MAX_WORK = 200_000
"""Steps of states through blocks, for one root function: beyond it the rest of its paths are given up."""


WORK_APART = 50_000
"""Beyond so many steps, of the states in which a function is called those in which the protocol stands alike become one."""


class GiveUp(Exception):
    """The bound is met."""


class Explorer(GraphRunner):
    """Explores one root function.

    `hazards` holds what was found, in order; `events` what happens in functions that are written out. `gave_up` says that the
    bound was met, and not all paths were seen; `degraded` that somewhere so many protocol states met that what differs
    between them was forgotten.

    Args:
        flows: the graphs that calls in it may enter.
        objects: what is known of each reference from its construction.
        nothing_scales: whether the whole program is known to call `scale` nowhere.
        nobody_unscales: whether no code in sight calls `unscale_`.
    """

    def __init__(
        self,
        flows: Flows,
        objects: Mapping[str, ObjectFacts],
        nothing_scales: bool = False,
        nobody_unscales: bool = False,
    ) -> None:
        protocol = Protocol(objects, nothing_scales, nobody_unscales)
        always = {key_of(name) for name, facts in objects.items() if facts.made}
        super().__init__(flows, protocol, Conditions(always))
        self.work = 0
        self.hazards: dict[Hazard, None] = {}
        self.events: set[Event] = set()
        self.gave_up = False
        self.degraded = False

    def run(self, root: Function, start: PathState | None = None) -> None:
        """Explore every path of a function.

        Args:
            root: the function.
            start: the state in which it is entered; by default one in which nothing is known.
        """
        root = self._flows.function(root.key) or root
        run = Run(self._root(root), start or PathState(), Summary())
        rhythm = rhythm_of(root, self._flows)
        self._protocol.rests, self._protocol.advancing = rhythm.rests, rhythm.advancing
        self._protocol.steps_past, self._protocol.unscales = self._flows.steps_past, self._flows.unscales
        try:
            self._explore(run)
            if start is None and rhythm.is_one_round:
                self._explore_again(run)
        except GiveUp:
            self.gave_up = True
        self.hazards = {changed(hazard, root=root.key): None for hazard in run.summary.hazards}

    def _explore_again(self, run: Run) -> None:
        """Explore a function that is one iteration as it is called in the next one: after the steps of the last."""
        ended = [state for kind in ("end", "return") for state in run.summary.exits.get(kind, ())]
        entries = dict.fromkeys(state.called_again(run.activation.frame.function.own) for state in ended)
        for entry in entries:
            if len(entry.protocol.stepped):
                self._explore(Run(run.activation, entry, run.summary))

    def _explore(self, run: Run) -> None:
        """Go round the blocks until nothing new arrives anywhere; fills the summary."""
        blocks = run.activation.graph.blocks
        points = [Point() for _ in blocks]
        points[0].arrive([run.entry])
        waiting = [0]
        while waiting:
            block = blocks[heappop(waiting)]
            states = points[block.number].take()
            self.work += len(states)
            if self.work > MAX_WORK:
                raise GiveUp
            for following, after in self._step(block, states, run):
                arriving = points[following.number]
                idle = arriving.is_idle
                arriving.arrive(run.activation.survivors(after, block, following))
                self.degraded = self.degraded or arriving.degraded
                if idle and not arriving.is_idle:
                    heappush(waiting, following.number)

    def _failures(self, block: Block, states: list[PathState], run: Run) -> Ways:
        if not (block.raises or (block.fails and run.activation.watched)):
            return
        failing = _failing(block.step, states)
        if block.fails:
            run.end_by_raising(failing)
        for handler in block.raises:
            yield handler, failing

    def _happen(self, block: Block, states: list[PathState], run: Run) -> list[PathState]:
        event = run.activation.event(block)
        if run.activation.frame.at < 0:
            self.events.add(event)
        if isinstance(event, (Assign, Scale)) and run.activation.is_forgotten(block):
            handed_back = isinstance(event, Assign) and event.handed_back
            return [assigned(state, event.target, handed_back) for state in states] if event.target else states
        return super()._happen(block, states, run)

    def _summary(self, activation: Activation, state: PathState) -> Summary:
        if self.work > WORK_APART and state not in activation.summaries:
            apart, state = state, activation.joined(state)
            self.degraded = self.degraded or state != apart
        if state not in activation.summaries:
            activation.summaries[state] = summary = Summary()
            self._explore(Run(activation, state, summary))
        return activation.summaries[state]


def _failing(step: object, states: list[PathState]) -> list[PathState]:
    """The states in which a step may fail, other than by an explicit `raise`.

    Programs reckon with failures of passes; a clip that raises is there to fail. Between `unscale_` and `update` nobody else
    does, so that what would follow from it is not worth a finding.
    """
    return states if isinstance(step, Clip) else [state for state in states if not len(state.protocol.stages)]
