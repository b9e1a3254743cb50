"""In which loops a scaler takes its steps, and schedules advance: once for each call, in each iteration, or for what is left."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.model.event_graph import Both, Branch, Call, Condition, Function, Loop, Node, Not, Test, parts_of
from amplint.model.events import Backward, ScalerStep, SchedulerStep
from amplint.model.exploration.call_references import MAX_DEPTH, Frame
from amplint.model.exploration.effects import Flows
from amplint.model.records import changed, frozen
from amplint.model.references import reference


@frozen
class Rhythm:
    """Where a root function and all that it calls takes steps.

    `is_one_round` says that it advances a schedule, and takes steps in no loop at all: somebody calls it for each iteration.
    `rests` are steps (the optimizer as the author writes it, and the loops around) outside of a loop in which the same optimizer
    is stepped, too: for what the loop has left over. `advancing` are the loops around what advances a schedule.
    """

    is_one_round: bool = False
    rests: frozenset[tuple[str, tuple[int, ...]]] = frozenset()
    advancing: frozenset[tuple[int, ...]] = frozenset()


@frozen
class _Step:
    """A step of an optimizer: in which loops, and under which outcomes of conditions. Of a schedule, no optimizer is told."""

    optimizer: str | None
    loops: tuple[int, ...]
    outcomes: frozenset[tuple[str, bool]]

    def is_rest_of(self, other: _Step) -> bool:
        """Whether this step may take what the loop in which the other one stands has left over."""
        deeper = len(other.loops) > len(self.loops) and other.loops[: len(self.loops)] == self.loops
        excluded = any((key, not outcome) in self.outcomes for key, outcome in other.outcomes)
        return deeper and other.optimizer == self.optimizer and not excluded


def rhythm_of(root: Function, flows: Flows) -> Rhythm:
    """The rhythm of a function; of one that advances no schedule nobody asks for it.

    Args:
        root: the function.
        flows: the graphs that calls in it may enter.
    """
    if not flows.happens(SchedulerStep, root):
        return Rhythm()
    walk = _Steps(flows)
    found = list(walk.of(root.body, Frame(root), frozenset()))
    steps = [(step.optimizer, step) for step in found if step.optimizer is not None]
    over = [(optimizer, step) for optimizer, step in steps if step.loops not in walk.propagating]
    rests = {(optimizer, step.loops) for optimizer, step in over if any(step.is_rest_of(other) for _, other in steps)}
    in_no_loop = bool(steps) and not any(step.loops for _, step in steps)
    advancing = frozenset(step.loops for step in found if step.optimizer is None)
    return Rhythm(in_no_loop and len(steps) < len(found), frozenset(rests), advancing)


class _Steps:
    """Finds the steps in functions and in what they call.

    Attributes:
        propagating: the loops around backward passes: a step in just these is for a pass of its own, and for nothing left over.
    """

    def __init__(self, flows: Flows) -> None:
        self._flows = flows
        self._seen: set[object] = set()
        self.propagating: set[tuple[int, ...]] = set()

    def of(self, node: Node, frame: Frame, outcomes: frozenset[tuple[str, bool]]) -> Iterator[_Step]:
        """The steps in a node, once for each loop and optimizer that it is entered with.

        Args:
            node: the node.
            frame: the call of its function, in the loops around it.
            outcomes: the conditions, by key, that have come out so around it.
        """
        match node:
            case Backward():
                self.propagating.add(frame.loops)
            case SchedulerStep():
                yield _Step(None, frame.loops, outcomes)
            case ScalerStep(optimizer=optimizer):
                yield _Step(reference(frame.ref(optimizer)).written, frame.loops, outcomes)
            case Call():
                yield from self._in_call(node, frame, outcomes)
            case Branch(condition=condition):
                for truth, side in ((True, node.then), (False, node.orelse)):
                    told = {(frame.key(key), outcome) for key, outcome in _told(condition, truth)}
                    yield from self.of(side, frame, outcomes | told)
            case _:
                inside = isinstance(node, Loop) and not node.over_objects
                below = changed(frame, loops=(*frame.loops, node.site)) if isinstance(node, Loop) and inside else frame
                for part in parts_of(node):
                    yield from self.of(part, below, outcomes)

    def _in_call(self, call: Call, frame: Frame, outcomes: frozenset[tuple[str, bool]]) -> Iterator[_Step]:
        called = self._flows.function(call.function) if frame.depth < MAX_DEPTH else None
        if called is None:
            return
        below = frame.entering(called, call, "#0/")
        key = called.key, below.binding, below.loops, outcomes
        if key not in self._seen:
            self._seen.add(key)
            yield from self.of(called.body, below, outcomes)


def _told(condition: Condition, truth: bool) -> Iterator[tuple[str, bool]]:
    """The tests that have one outcome over a run, as a condition that has come out so tells."""
    match condition:
        case Not(part=part):
            yield from _told(part, not truth)
        case Both(parts=parts, any_of=any_of):
            for part in parts if truth is not any_of else ():
                yield from _told(part, truth)
        case Test(kind="config" | "unscaled" | "mode"):
            yield condition.key, truth
