"""Control-flow graphs: the blocks of one function, and the ways from each to the next.

An event graph (`amplint.model.event_graph`) is a tree that follows the text; here its jumps, loops and exceptions are
edges, so that a worklist can go round them until nothing new arrives. Blocks are numbered in reverse post-order: what comes
before a block on every way that does not go back to the head of a loop has a lower number, and so has the body of a loop
before what follows the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from amplint.model.event_graph import Call, Condition, Function, Loop
from amplint.model.events import Event
from amplint.model.records import frozen


@frozen
class Ask:
    """A condition is evaluated: the first way is taken when it is true, the second when it is false.

    `away` is the side on which the code only leaves the loop or the function, if it does so on one; `jump` is how ("continue",
    "return", ...). `branch` is the number of the branch that goes by the condition; None where what follows the branch may go
    by it, too, and where there is none.
    """

    condition: Condition
    away: bool | None = None
    branch: int | None = None
    jump: str = ""


@frozen
class Iterate:
    """The next iteration of a loop begins."""

    loop: Loop


@frozen
class Gather:
    """A loop over a collection of optimizers begins, whose body is walked once for all of them."""

    loop: Loop


@frozen
class Join:
    """Ways come together, after both sides of a condition or, with none, before the next iteration of a loop."""

    ask: Ask | None = None


@frozen
class Pass:
    """Nothing happens."""


@frozen
class Exit:
    """The function is left: `kind` is "end", "return" or "raise"."""

    kind: str


Step = Event | Ask | Iterate | Gather | Join | Pass | Call | Exit


@dataclass(eq=False)
class Block:
    """One step, and where it leads: `next` in order, `raises` to the handlers that take over when the step fails.

    `loops` are the sites of the loops of the function around it, the outermost first. Handlers are reached in the state
    before the step: what fails has had no effect. `fails`: the step may fail, and no handler of the function takes over.
    `exhausted` is where a loop goes on once it is over: of its head, and of its condition. An exploration gets there from the
    end of the body; a single run goes there when it has had enough.
    """

    step: Step
    loops: tuple[int, ...] = ()
    next: list[Block] = field(default_factory=list)
    raises: list[Block] = field(default_factory=list)
    fails: bool = False
    exhausted: Block | None = None
    number: int = -1

    @property
    def ways(self) -> list[Block]:
        """All blocks that may follow."""
        return [*self.next, *self.raises]


@dataclass(eq=False)
class FlowGraph:
    """The blocks of a function in the order of their numbers; the first one is where it begins."""

    function: Function
    blocks: list[Block]


def without_idle(start: Block) -> Block:
    """The graph without blocks in which nothing happens and which lead to one other."""
    seen, waiting = {start}, [start]
    while waiting:
        block = waiting.pop()
        block.next[:] = map(_busy, block.next)
        block.raises[:] = dict.fromkeys(map(_busy, block.raises))
        for following in block.ways:
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return start


def _busy(block: Block) -> Block:
    met: set[Block] = set()
    while isinstance(block.step, Pass) and len(block.next) == 1 and not block.raises and block not in met:
        met.add(block)
        block = block.next[0]
    return block


def numbered(start: Block) -> list[Block]:
    """All blocks that can be reached, in reverse post-order; numbers them, and then those that only a single run gets to."""
    order = _reverse_post_order(start)
    for number, block in enumerate(order):
        block.number = number
    count, waiting = len(order), [block.exhausted for block in order]
    while waiting:
        beyond = waiting.pop()
        for block in _reverse_post_order(beyond) if beyond is not None and beyond.number < 0 else ():
            block.number, count = count, count + 1
            waiting.append(block.exhausted)
    return order


def _reverse_post_order(start: Block) -> list[Block]:
    """The blocks without a number that can be reached without going through one that has a number."""
    order: list[Block] = []
    seen = {start}
    # A stack of blocks, each with the ways still to be gone: of several the last goes first, and so comes later in order.
    stack = [(start, [*start.next, *start.raises])]
    while stack:
        block, ways = stack[-1]
        if not ways:
            order.append(block)
            stack.pop()
            continue
        following = ways.pop()
        if following.number < 0 and following not in seen:
            seen.add(following)
            stack.append((following, [*following.next, *following.raises]))
    order.reverse()
    return order
