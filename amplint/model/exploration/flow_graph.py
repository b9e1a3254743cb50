"""Control-flow graphs: the blocks of one function, and the ways from each to the next.

An event graph (`amplint.model.event_graph`) is a tree that follows the text; here its jumps, loops and exceptions are
edges, so that a worklist can go round them until nothing new arrives. Blocks are numbered in reverse post-order: what comes
before a block on every way that does not go back to the head of a loop has a lower number, and so has the body of a loop
before what follows the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from amplint.model.event_graph import Branch, Call, Condition, Function, Jump, Loop, Node, Scoped, Seq, Test, Try
from amplint.model.events import Assign, Backward, Checkpoint, Clip, Event, Forward, Region
from amplint.model.exploration.call_references import RETURN


@dataclass(frozen=True)
class Ask:
    """A condition is evaluated: the first way is taken when it is true, the second when it is false."""

    condition: Condition


@dataclass(frozen=True)
class Enter:
    """A region is entered."""

    region: Region
    site: int


@dataclass(frozen=True)
class EndRegions:
    """The innermost regions end: so many as `count` says."""

    count: int


@dataclass(frozen=True)
class Iterate:
    """The next iteration of a loop begins."""

    loop: Loop


@dataclass(frozen=True)
class Gather:
    """A loop over a collection of optimizers begins, whose body is walked once for all of them."""

    loop: Loop


@dataclass(frozen=True)
class Join:
    """Ways come together, after both sides of a condition or, with none, before the next iteration of a loop."""

    asked: Condition | None = None


@dataclass(frozen=True)
class Pass:
    """Nothing happens."""


@dataclass(frozen=True)
class Exit:
    """The function is left: `kind` is "end", "return" or "raise"."""

    kind: str


Step = Event | Ask | Enter | EndRegions | Iterate | Gather | Join | Pass | Call | Exit


@dataclass(eq=False)
class Block:
    """One step, and where it leads: `next` in order, `raises` to the handlers that take over when the step fails.

    `loops` are the sites of the loops of the function around it, the outermost first. Handlers are reached in the state
    before the step: what fails has had no effect. `fails`: the step may fail, and no handler of the function takes over.
    """

    step: Step
    loops: tuple[int, ...] = ()
    next: list[Block] = field(default_factory=list)
    raises: list[Block] = field(default_factory=list)
    fails: bool = False
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


def flow_graph(function: Function) -> FlowGraph:
    """The control-flow graph of a function."""
    builder = _Builder()
    start = builder.add(Pass())
    builder.node(function.body)
    builder.add(Exit("end"))
    return FlowGraph(function, _numbered(_without_idle(start)))


@dataclass(eq=False)
class _Around:
    """What jumps inside a statement meet: the ends of a loop, handlers or a `finally` block.

    `targets` are blocks by the kind of jump that leads there; `depth` is how many regions are entered outside.
    """

    loops: tuple[int, ...]
    depth: int
    targets: dict[str, Block] = field(default_factory=dict)
    final: Node | None = None


class _Builder:
    """Lays blocks one after the other; `_last` is the one that the next follows, None after a jump."""

    def __init__(self) -> None:
        self._last: Block | None = None
        self._loops: tuple[int, ...] = ()
        self._depth = 0
        self._around: list[_Around] = []

    def add(self, step: Step) -> Block:
        """One more block, which follows the last one."""
        block = Block(step, self._loops)
        self._go_on_at(block)
        return block

    def _go_on_at(self, block: Block) -> None:
        if self._last is not None:
            self._last.next.append(block)
        self._last = block

    def node(self, node: Node) -> None:
        """The blocks of a node; nothing where no way leads to it."""
        if self._last is None:
            return
        match node:
            case Seq():
                for part in node.parts:
                    self.node(part)
            case Branch():
                self._branch(node)
            case Loop():
                self._gather(node) if node.over_objects else self._loop(node)
            case Scoped():
                self.add(Enter(node.region, node.site))
                self._depth += 1
                self.node(node.body)
                self._depth -= 1
                if self._last is not None:
                    self.add(EndRegions(1))
            case Try():
                self._try(node)
            case Jump():
                self._jump(node)
            case _:
                self._may_fail(self.add(node))

    def _may_fail(self, block: Block) -> None:
        """Lead from a block to the handlers around it, through the `finally` blocks on the way."""
        if not _is_likely_to_fail(block.step):
            return
        handling = [index for index, each in enumerate(self._around) if each.final is None and "raise" in each.targets]
        finals = [index for index, each in enumerate(self._around) if each.final is not None]
        if not handling:
            block.fails = not finals
            return
        nearest = self._around[max(handling)]
        if finals and max(finals) > max(handling):
            nearest = self._around[max(finals)]
            if "raise" not in nearest.targets:
                nearest.targets["raise"] = self._finally(nearest, "raise", max(finals))
        block.raises.append(self._outside(nearest, nearest.targets["raise"]))

    def _outside(self, around: _Around, target: Block) -> Block:
        """The target of a jump, behind the ends of the regions that are entered here and not there."""
        if self._depth == around.depth:
            return target
        return Block(EndRegions(self._depth - around.depth), around.loops, [target])

    def _branch(self, node: Branch) -> None:
        ask, after = self.add(Ask(node.condition)), Block(Join(node.condition), self._loops)
        for side in (node.then, node.orelse):
            self._last = Block(Pass(), self._loops)
            ask.next.append(self._last)
            self.node(side)
            self._go_on_at(after)
        self._last = after

    def _loop(self, node: Loop) -> None:
        before = self.add(Pass())
        outside, inside = self._loops, (*self._loops, node.site)
        after, exhausted = Block(Pass(), outside), Block(Pass(), outside)
        again = Block(Join(), inside)
        self._loops = inside
        head = self.add(Iterate(node))
        if node.condition is not None:
            self.add(Ask(node.condition))
            self.add(Pass())
        self._around.append(_Around(inside, self._depth, {"break": after, "continue": again}))
        self.node(node.body)
        self._go_on_at(again)
        self._around.pop()
        self._loops = outside
        again.next.append(head)
        if not _is_true(node.condition):
            again.next.append(exhausted)
            if node.condition is not None:
                # A `for` loop over nothing is no path worth a finding; a `while` may well not be entered.
                before.next.append(exhausted)
        self._last = exhausted
        self.node(node.orelse)
        self._go_on_at(after)

    def _gather(self, node: Loop) -> None:
        self.add(Gather(node))
        after = Block(Pass(), self._loops)
        self._around.append(_Around(self._loops, self._depth, {"break": after, "continue": after}))
        self.node(node.body)
        self._around.pop()
        self._go_on_at(after)

    def _jump(self, jump: Jump) -> None:
        if jump.kind == "return":
            self.add(Assign(-1, RETURN, jump.carried, jump.args, jump.computes))
        self._leave(jump.kind, len(self._around))
        self._last = None

    def _leave(self, kind: str, level: int) -> None:
        """Go from the last block to where a jump leads, out of the innermost `level` things around."""
        last = self._last
        assert last is not None
        for index in reversed(range(level)):
            around = self._around[index]
            if kind not in around.targets and around.final is not None:
                around.targets[kind] = self._finally(around, kind, index)
            if kind in around.targets:
                last.next.append(self._outside(around, around.targets[kind]))
                return
        end = Block(Exit(kind), ())
        last.next.append(end if not self._depth else Block(EndRegions(self._depth), (), [end]))

    def _finally(self, around: _Around, kind: str, level: int) -> Block:
        """The `finally` block on the way of a jump, which goes on from there."""
        assert around.final is not None
        here = self._last, self._loops, self._depth, self._around
        start = self._last = Block(Pass(), around.loops)
        self._loops, self._depth, self._around = around.loops, around.depth, self._around[:level]
        self.node(around.final)
        if self._last is not None:
            self._leave(kind, level)
        self._last, self._loops, self._depth, self._around = here
        return start

    def _try(self, node: Try) -> None:
        final = _Around(self._loops, self._depth, final=node.final)
        if node.final != Seq():
            self._around.append(final)
        ended = Block(Pass(), self._loops)
        if node.handlers:
            self._handled(node, ended)
        else:
            self.node(node.body)
            self.node(node.orelse)
            self._go_on_at(ended)
        self._last = ended
        if node.final != Seq():
            self._around.pop()
            self.node(node.final)

    def _handled(self, node: Try, ended: Block) -> None:
        caught = Block(Pass(), self._loops)
        self.add(Pass()).raises.append(caught)
        self._around.append(_Around(self._loops, self._depth, {"raise": caught}))
        self.node(node.body)
        self._around.pop()
        if self._last is not None:
            self.add(Pass()).raises.append(caught)
        self.node(node.orelse)
        self._go_on_at(ended)
        for handler in node.handlers:
            self._last = Block(Pass(), self._loops)
            caught.next.append(self._last)
            self.node(handler)
            self._go_on_at(ended)


def _is_likely_to_fail(step: Step) -> bool:
    """Whether programs reckon with a failure: of what allocates, computes, reads or writes; not of the scaler's own calls."""
    match step:
        case Assign():
            return step.computes
        case Clip():
            return step.raises
    return isinstance(step, (Backward, Call, Checkpoint, Forward))


def _is_true(condition: Condition | None) -> bool:
    return isinstance(condition, Test) and condition.kind == "true"


def _without_idle(start: Block) -> Block:
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


def _numbered(start: Block) -> list[Block]:
    """All blocks that can be reached, in reverse post-order; numbers them."""
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
        if following not in seen:
            seen.add(following)
            stack.append((following, [*following.next, *following.raises]))
    order.reverse()
    for number, block in enumerate(order):
        block.number = number
    return order
