"""Strong liveness: what the code to come may still ask of a state, block by block.

What is asked are the keys of conditions, and the references of values that end in a loss. A value that only goes into a dead
one is dead, too (faint variables). `ever` is all that may be asked later; `soon` what may be asked before a loop around goes
on to its next iteration, in which conditions that vary are asked anew.
"""

from __future__ import annotations

from collections.abc import Iterable

from amplint.model.event_graph import Call
from amplint.model.events import Assign, Scale
from amplint.model.exploration.call_references import RETURN
from amplint.model.exploration.effects import Flows, asks
from amplint.model.exploration.flow_graph import Block, Exit, FlowGraph, Iterate, Step
from amplint.model.records import frozen
from amplint.model.references import condition_key, is_key, key_of, reference

Names = frozenset[str]


@frozen
class Death:
    """What nothing asks for any more, once a way is gone: `values`, and conditions.

    `soon` are those that nothing asks for any more in this iteration, `ever` those of them that nothing asks for later, either.
    """

    values: Names
    soon: Names
    ever: Names


NOTHING = Death(frozenset(), frozenset(), frozenset())


class Liveness:
    """What is live in the blocks of one function.

    Args:
        graph: the function.
        flows: what its calls may ask of a state.
        called: whether it is entered by a call, so that the caller may ask for what is the caller's, and for the result.
    """

    def __init__(self, graph: FlowGraph, flows: Flows, called: bool) -> None:
        self._met = [_met_in(block, flows) for block in graph.blocks]
        own = graph.function.own - {"self"}
        shared = (name for met in self._met for name in met if not _is_local(name, own))
        outward = frozenset(shared) | {RETURN} if called else frozenset()
        sources = {block.number: _sources(block.step) for block in graph.blocks}
        names = _Names(outward.union(*self._met, *sources.values()))
        self._effects = [
            _Effect(names, block, self._met[block.number], sources[block.number], outward) for block in graph.blocks
        ]
        self._ever = [frozenset[str]()] * len(graph.blocks)
        self._soon = list(self._ever)
        changed = True
        while changed:
            changed = False
            for block in reversed(graph.blocks):
                effect, number = self._effects[block.number], block.number
                ever = effect.before(self._ever[way.number] for way in block.ways)
                # The way back to the head of a loop leads to the next iteration.
                soon = effect.before(self._soon[way.number] for way in block.ways if way.number > number)
                if ever != self._ever[number] or soon != self._soon[number]:
                    self._ever[number], self._soon[number] = ever, soon
                    changed = True

    def death(self, block: Block, following: Block) -> Death:
        """What dies on the way from a block to the next one.

        Args:
            block: a block of the function.
            following: one that may follow it.
        """
        met = self._met[block.number]
        here = self._ever[block.number] | met
        ever, soon = here - self._ever[following.number], here - self._soon[following.number]
        if not (ever or soon):
            return NOTHING
        values = frozenset(name for name in ever if not is_key(name))
        return Death(values, frozenset(filter(is_key, soon)), ever - values)

    def asked_after(self, block: Block) -> Names:
        """What may be asked once a block is done."""
        return frozenset().union(*(self._ever[way.number] for way in block.next))

    @property
    def at_start(self) -> Names:
        """What the function may ask of the state in which it is entered."""
        return self._ever[0]


def _met_in(block: Block, flows: Flows) -> Names:
    """What a block asks for, or makes known."""
    step = block.step
    match step:
        case Call():
            return flows.of_call(step).asked | ({step.target} if step.target else set())
        case Assign():
            truth = {key_of(step.target)} if step.tells_truth else set()
            return frozenset({step.target, *truth})
        case Scale():
            return frozenset({step.target})
    return frozenset(asks(step))


def _is_local(name: str, own: Names) -> bool:
    """Whether a name is known in its function alone."""
    if is_key(name):
        return not own.isdisjoint(condition_key(name).roots)
    return reference(name).root in own or reference(name).is_temporary


class _Names:
    """The names that live in a function, by what they are parts of or ask about."""

    def __init__(self, names: Names) -> None:
        self._parts: dict[str, set[str]] = {}
        self._about: dict[str, set[str]] = {}
        for name in names:
            if is_key(name):
                for each in condition_key(name).mentioned:
                    self._about.setdefault(each, set()).add(name)
            else:
                for each in reference(name).wholes:
                    self._parts.setdefault(each, set()).add(name)

    def parts(self, target: str) -> set[str]:
        """A value, and the parts of it."""
        return self._parts.get(target, set())

    def about(self, target: str) -> set[str]:
        """What an assignment to `target` gives a new meaning."""
        return {target, *self._about.get(target, ())}


class _Effect:
    """What a block does to the names that are live after it: `gone` are assigned, `made` are asked for.

    Where a value is computed, its operands are asked for if one of `wanted` is live after it.
    """

    def __init__(self, names: _Names, block: Block, met: Names, sources: Names, outward: Names) -> None:
        self._gone: set[str] = set()
        self._made, self._wanted = met, None
        self._failing = outward if block.fails else frozenset[str]()
        match step := block.step:
            case Exit():
                self._made = outward
            case Assign() | Scale():
                self._gone, self._wanted, self._made = names.about(step.target), names.parts(step.target), sources
            case Iterate():
                self._gone = set().union(*map(names.about, step.loop.targets))

    def before(self, after: Iterable[Names]) -> Names:
        """What is live before the block."""
        live = self._failing.union(*after)
        dead = self._wanted is not None and self._wanted.isdisjoint(live)
        return (live - self._gone) if dead else (live - self._gone) | self._made


def _sources(step: Step) -> Names:
    """The operands of a computed value, and what they are parts of."""
    match step:
        case Assign():
            return frozenset(each for name in (*step.carried, *step.args) for each in reference(name).wholes)
        case Scale():
            return frozenset(reference(step.source).wholes)
    return frozenset()
