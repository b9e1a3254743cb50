"""Graphs of events: the order, the branches and the conditions in which a function does things.

Plain data, so that the graph of a function is its summary: it can be entered from any call, and stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from functools import cached_property

from amplint.model.events import Assign, Event, ObjectFacts, Region
from amplint.model.records import frozen

MOMENTS = frozenset({"moment", "end"})
"""The kinds of conditions that ask whether one of a few moments of the run has come."""


@frozen
class Test:
    """One condition that is not taken apart further.

    `key` is its normalised text with every reference in angle quotes (`‹args.amp›`); equal keys have equal truth until a
    reference in it is assigned. `kind` says what the condition is about:
    "mode" whether AMP is on (true side: on); "unscaled" whether nothing is scaled in this precision (the other side tells
    nothing); "config" anything else that is constant over a run; "skipped" whether the scale fell (true side: the
    optimizer step was skipped); "gate" anything else that may tell so; "range" whether a counter is past a place in the run,
    or whether there is anything at all, "moment" whether it has come to one of a few (true side: now and then), "end" to the
    last batch of an epoch, which tell nothing of a step; "true" and "false" constants; "varying" the rest, which may tell
    anything. `implies` are tests that come out in one way wherever this one is true: an option that equals one value equals no
    other.
    """

    key: str
    refs: frozenset[str] = frozenset()
    kind: str = "varying"
    implies: tuple[tuple[Test, bool], ...] = ()

    @property
    def lasts(self) -> bool:
        """Whether its truth is the same all through a run, but is not that AMP is on."""
        return self.kind in ("config", "unscaled")


@frozen
class Not:
    """Negation."""

    part: Condition


@frozen
class Both:
    """`and` (any_of False) or `or` (any_of True), evaluated from the left."""

    parts: tuple[Condition, ...]
    any_of: bool = False

    @cached_property
    def key(self) -> str:
        """The key of what is true when a part comes out as `any_of`, so that `a or b` and `not a and not b` share one."""
        return f"any({', '.join(_stated(part, self.any_of) for part in self.parts)})"


Condition = Test | Not | Both


def _stated(condition: Condition, truth: bool) -> str:
    """The key of what is true when a condition has this truth."""
    match condition:
        case Not():
            return _stated(condition.part, not truth)
        case Both():
            truth = truth == condition.any_of
    return condition.key if truth else f"not {condition.key}"


def tests_in(condition: Condition) -> Iterator[Test]:
    """The tests that a condition is made of, and those that it decides."""
    match condition:
        case Test():
            yield condition
            yield from (implied for implied, _ in condition.implies)
        case Not():
            yield from tests_in(condition.part)
        case Both():
            for part in condition.parts:
                yield from tests_in(part)


def mentioned(condition: Condition) -> frozenset[str]:
    """The references that a condition looks at."""
    return frozenset().union(*(test.refs for test in tests_in(condition)))


def kinds_of(condition: Condition) -> frozenset[str]:
    """The kinds of the tests in a condition."""
    return frozenset(test.kind for test in tests_in(condition))


@frozen
class Seq:
    """One after the other."""

    parts: tuple[Node, ...] = ()


@frozen
class Branch:
    """`if`."""

    condition: Condition
    then: Node
    orelse: Node


@frozen
class Loop:
    """`for` and `while`.

    `targets` are assigned anew by each iteration. A loop over a collection of optimizers (`over_objects`) is one step done
    to all of them: its body runs exactly once. What stands at the sites `picked` is for some of them only. `counts_from` is
    the number from which the first target counts the iterations, if it does.
    """

    site: int
    body: Node
    orelse: Node
    targets: tuple[str, ...] = ()
    condition: Condition | None = None
    over_objects: bool = False
    picked: frozenset[int] = frozenset()
    counts_from: float | None = None


@frozen
class Scoped:
    """The body of a `with` statement (or decorated function) that enters a region."""

    site: int
    region: Region
    body: Node


@frozen
class Try:
    """`try`: any handler may take over where something in the body fails.

    That is before each event of the body that programs reckon may fail (what fails has had no effect), where the body begins
    or has ended, where it raises, and where a call in it has raised. `final` runs on each way out that a jump takes, and at
    the end.
    """

    body: Node
    handlers: tuple[Node, ...]
    orelse: Node
    final: Node


@frozen
class Jump:
    """`break`, `continue`, `return` (of values computed from `carried` and `args`), `raise`."""

    kind: str
    carried: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    computes: bool = False


@frozen
class Call:
    """A call of a function whose graph is known, under the key `function`.

    `binding` maps parameters to references of the caller, before them attributes (`self.optimizer`) of which the caller knows
    what they hold; `truths` are the parameters that get a constant, with its truth;
    `conditions` those that get the outcome of a condition of the caller. `target` gets the returned value.
    """

    site: int
    function: str
    binding: tuple[tuple[str, str], ...] = ()
    target: str = ""
    truths: tuple[tuple[str, bool], ...] = ()
    conditions: tuple[tuple[str, Condition], ...] = ()


Node = Event | Seq | Branch | Loop | Scoped | Try | Jump | Call


def parts_of(node: Node) -> tuple[Node, ...]:
    """The nodes directly inside a node."""
    match node:
        case Seq():
            return node.parts
        case Branch():
            return (node.then, node.orelse)
        case Loop():
            return (node.body, node.orelse)
        case Scoped():
            return (node.body,)
        case Try():
            return (node.body, *node.handlers, node.orelse, node.final)
    return ()


def last_jump(node: Node) -> str:
    """The kind of jump by which a node leaves the loop or the function, in the end; empty where it does not."""
    if isinstance(node, Seq):
        return last_jump(node.parts[-1]) if node.parts else ""
    return node.kind if isinstance(node, Jump) else ""


def ways_beyond(node: Node, flags: frozenset[str]) -> frozenset[str]:
    """How a side of a branch says what becomes of what follows: the kinds of jumps by which it may leave, and "assign" where it
    sets what may be asked for elsewhere. A loop in it that it ends, or goes on with, is its own affair.

    Args:
        node: the side.
        flags: the names that only conditions of the same function ask for: those decide for themselves.
    """
    if isinstance(node, Assign):
        decides = node.truth is not None and node.carried != ("None",) and node.target not in flags
        return frozenset({"assign"} if decides else ())
    if isinstance(node, Jump):
        return frozenset({node.kind})
    if isinstance(node, Loop):
        return ways_beyond(node.body, flags) - {"break", "continue"} | ways_beyond(node.orelse, flags)
    return frozenset[str]().union(*(ways_beyond(part, flags) for part in parts_of(node)))


@frozen
class Function:
    """The graph of one function: its summary.

    `locals` are the names that belong to a call's own frame; all other references mean the same to caller and callee, but for
    those of a function that is nested in another one: `around` is the key of that, whose names they are.
    `objects` is what is known about the references in it. What happens in an `opaque` function happens where it is called:
    its own text is nothing that anyone would want to see.
    `valued` are the names whose values somebody asks for, where that is known.
    """

    key: str
    params: tuple[str, ...]
    body: Node
    locals: frozenset[str] = frozenset()
    objects: dict[str, ObjectFacts] = field(default_factory=dict, hash=False, compare=False)
    site: int = -1
    opaque: bool = False
    around: str = ""
    valued: frozenset[str] | None = None

    @property
    def own(self) -> frozenset[str]:
        """The names of which each call has its own object: those that are no parameters."""
        return self.locals - set(self.params)

    @cached_property
    def flags(self) -> frozenset[str]:
        """Its own names that it neither returns nor hands on to a function that it calls."""
        handed: set[str] = set()
        waiting = [self.body]
        while waiting:
            match node := waiting.pop():
                case Call():
                    handed.update(value for _, value in node.binding)
                    handed.update(name for _, condition in node.conditions for name in mentioned(condition))
                case Jump():
                    handed.update(node.carried, node.args)
            waiting += parts_of(node)
        return self.locals - handed
