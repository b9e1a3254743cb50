"""Strong liveness: what the code to come may still ask of a state, block by block.

What is asked are the keys of conditions, and the references of values that end in a loss. A value that only goes into a dead
one is dead, too (faint variables). `ever` is all that may be asked later; `soon` what may be asked before a loop around goes
on to its next iteration, in which conditions that vary are asked anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from amplint.model.event_graph import Call
from amplint.model.events import Assign, Scale
from amplint.model.exploration.call_references import RETURN, references, with_owners
from amplint.model.exploration.effects import Flows, asks
from amplint.model.exploration.flow_graph import Block, Exit, FlowGraph, Iterate

Names = frozenset[str]


@dataclass(frozen=True)
class Death:
    """What nothing asks for any more, once a way is gone: `soon` of what was asked in this iteration, `ever` of the rest."""

    soon: Names
    ever: Names


NOTHING = Death(frozenset(), frozenset())


class Liveness:
    """What is live in the blocks of one function.

    Args:
        graph: the function.
        flows: what its calls may ask of a state.
        called: whether it is entered by a call, so that the caller may ask for what is the caller's, and for the result.
    """

    def __init__(self, graph: FlowGraph, flows: Flows, called: bool) -> None:
        self._flows = flows
        self._ever = [frozenset[str]()] * len(graph.blocks)
        self._soon = list(self._ever)
        own = graph.function.locals - set(graph.function.params) - {"self"}
        shared = (name for block in graph.blocks for name in self._met(block) if not _is_local(name, own))
        self._outward = frozenset(shared) | {RETURN} if called else frozenset()
        changed = True
        while changed:
            changed = False
            for block in reversed(graph.blocks):
                ever, soon = self._before(block, False), self._before(block, True)
                if ever != self._ever[block.number] or soon != self._soon[block.number]:
                    self._ever[block.number], self._soon[block.number] = ever, soon
                    changed = True

    def death(self, block: Block, following: Block) -> Death:
        """What dies on the way from a block to the next one."""
        met = self._met(block)
        ever = (self._ever[block.number] | met) - self._ever[following.number]
        soon = (self._ever[block.number] | met) - self._soon[following.number]
        return Death(soon, ever) if ever or soon else NOTHING

    def asked_after(self, block: Block) -> Names:
        """What may be asked once a block is done."""
        return frozenset().union(*(self._ever[way.number] for way in block.next))

    @property
    def at_start(self) -> Names:
        """What the function may ask of the state in which it is entered."""
        return self._ever[0]

    def _before(self, block: Block, soon: bool) -> Names:
        table = self._soon if soon else self._ever
        after = set(self._outward) if block.fails else set[str]()
        for way in block.ways:
            # The way back to the head of a loop leads to the next iteration.
            if not (soon and way.number <= block.number):
                after |= table[way.number]
        step = block.step
        match step:
            case Exit():
                return self._outward
            case Assign() | Scale():
                sources = (*step.carried, *step.args) if isinstance(step, Assign) else (step.source,)
                live = any(
                    name == step.target or name.startswith((f"{step.target}.", f"{step.target}[")) for name in after
                )
                after -= {name for name in after if _is_about(name, step.target)}
                if live:
                    after.update(each for name in sources for each in with_owners(name))
            case Iterate():
                for target in step.loop.targets:
                    after -= {name for name in after if _is_about(name, target)}
            case _:
                after |= self._met(block)
        return frozenset(after)

    def _met(self, block: Block) -> Names:
        """What a block asks for, or makes known."""
        step = block.step
        match step:
            case Call():
                return self._flows.of_call(step).asked | ({step.target} if step.target else set())
            case Assign():
                truth = {f"‹{step.target}›"} if step.truth is not None else set()
                return frozenset({step.target, *truth})
            case Scale():
                return frozenset({step.target})
        return frozenset(asks(step))


def _is_local(name: str, own: Names) -> bool:
    """Whether a name is known in its function alone."""
    roots = {each.partition(".")[0].partition("[")[0] for each in (references(name) if "‹" in name else (name,))}
    return bool(roots & own)


def _is_about(name: str, target: str) -> bool:
    """Whether an assignment to `target` gives a name a new meaning."""
    return target in references(name) if "‹" in name else name == target
