"""Event graphs as control-flow graphs: blocks are laid one after the other, jumps and exceptions become ways between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from amplint.model import event_graph
from amplint.model.event_graph import Branch, Call, Condition, Function, Jump, Loop, Node, Scoped, Seq, Test, Try
from amplint.model.events import Assign, AutocastEnter, AutocastExit, Backward, Checkpoint, Clip, Forward
from amplint.model.exploration.call_references import RETURN
from amplint.model.exploration.flow_graph import (
    Ask,
    Block,
    Exit,
    FlowGraph,
    Gather,
    Iterate,
    Join,
    Pass,
    Step,
    numbered,
    without_idle,
)


def flow_graph(function: Function, nests: bool = False) -> FlowGraph:
    """The control-flow graph of a function.

    Args:
        function: the function.
        nests: whether functions are nested in it, which may ask for its names.
    """
    builder = _Builder(frozenset() if nests else function.flags)
    start = builder.add(Pass())
    builder.node(function.body)
    builder.add(Exit("end"))
    return FlowGraph(function, numbered(without_idle(start)))


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
    """Lays blocks one after the other; `_last` is the one that the next follows, None after a jump.

    Args:
        flags: the names that only conditions of the function ask for.
    """

    def __init__(self, flags: frozenset[str]) -> None:
        self._flags = flags
        self._last: Block | None = None
        self._loops: tuple[int, ...] = ()
        self._regions: list[int] = []
        self._around: list[_Around] = []
        self._branches = 0

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
                self.add(AutocastEnter(node.site, node.region))
                self._regions.append(node.site)
                self.node(node.body)
                if self._last is not None:
                    self.add(AutocastExit(node.site))
                self._regions.pop()
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
        return self._leaving(around.depth, around.loops, target)

    def _leaving(self, depth: int, loops: tuple[int, ...], target: Block) -> Block:
        """A block, behind the ends of all regions but the outermost ones: `depth` of them stay."""
        for site in self._regions[depth:]:
            target = Block(AutocastExit(site), loops, [target])
        return target

    def _branch(self, node: Branch) -> None:
        then, orelse = event_graph.last_jump(node.then), event_graph.last_jump(node.orelse)
        away = bool(then) if bool(then) != bool(orelse) else None
        self._branches += 1
        beyond = event_graph.ways_beyond(node.then, self._flags) | event_graph.ways_beyond(node.orelse, self._flags)
        jump = then or orelse if away is not None else ""
        if away is None and beyond == {"break"}:  # a condition inside may end the loop, and nothing else
            jump = "break"
        step = Ask(node.condition, away, None if beyond else self._branches, jump)
        ask = self.add(step)
        after = Block(Join(step), self._loops)
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
        head.exhausted = exhausted
        if node.condition is not None:
            self.add(Ask(node.condition, away=False, jump="break")).exhausted = exhausted
            self.add(Pass())
        self._around.append(_Around(inside, len(self._regions), {"break": after, "continue": again}))
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
        after, exhausted = Block(Pass(), self._loops), Block(Pass(), self._loops)
        self._around.append(_Around(self._loops, len(self._regions), {"break": after, "continue": exhausted}))
        self.node(node.body)
        self._around.pop()
        self._go_on_at(exhausted)
        self.node(node.orelse)
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
        last.next.append(self._leaving(0, (), Block(Exit(kind))))

    def _finally(self, around: _Around, kind: str, level: int) -> Block:
        """The `finally` block on the way of a jump, which goes on from there."""
        assert around.final is not None
        here = self._last, self._loops, self._regions, self._around
        start = self._last = Block(Pass(), around.loops)
        self._loops, self._around = around.loops, self._around[:level]
        self._regions = self._regions[: around.depth]
        self.node(around.final)
        if self._last is not None:
            self._leave(kind, level)
        self._last, self._loops, self._regions, self._around = here
        return start

    def _try(self, node: Try) -> None:
        final = _Around(self._loops, len(self._regions), final=node.final)
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
        self._around.append(_Around(self._loops, len(self._regions), {"raise": caught}))
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
