"""What a function asks for and what it changes, with all that it calls: in its own references, so that any call can use it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

from amplint.model.event_graph import Call, Function, Node, parts_of
from amplint.model.events import Assign, Backward, Event, InnerGrad, OptimizerStep, Report, Scale, Unscale
from amplint.model.exploration.call_references import MAX_DEPTH, Frame, keys_of
from amplint.model.exploration.flow_graph import Ask, FlowGraph, Iterate
from amplint.model.exploration.flow_graph_builder import flow_graph
from amplint.model.exploration.slicing import sliced
from amplint.model.records import frozen
from amplint.model.references import key_of, reference

Known = TypeVar("Known")

_INNER = "¤"
"""Marks what nobody outside of a callee knows."""


@frozen
class Effects:
    """`asked`: keys of conditions and references of values that code looks at; `assigned`: references that get new values."""

    asked: frozenset[str] = frozenset()
    assigned: frozenset[str] = frozenset()

    def __or__(self, other: Effects) -> Effects:
        return Effects(self.asked | other.asked, self.assigned | other.assigned)


class Flows:
    """The control-flow graphs of functions that may call each other, and the effects of each.

    Args:
        functions: the functions, by key.
        roots: the keys of those that are explored; by default all.
    """

    def __init__(self, functions: Mapping[str, Function], roots: Collection[str] | None = None) -> None:
        self._functions = functions
        self._roots = functions.keys() if roots is None else roots
        self._graphs: dict[str, FlowGraph] = {}
        self._effects: dict[str, Effects] = {}
        self._of_calls: dict[int, Effects] = {}
        self._worked_out: dict[object, Any] = {}

    def once(self, key: object, work_out: Callable[[], Known]) -> Known:
        """What is worked out once for all that explore these graphs.

        Args:
            key: tells it from all else.
            work_out: gives it.
        """
        if key not in self._worked_out:
            self._worked_out[key] = work_out()
        known: Known = self._worked_out[key]
        return known

    @cached_property
    def sliced(self) -> Flows:
        """The same, as far as hazards depend on what the functions do."""
        return Flows(sliced(self._functions, self._roots), self._roots)

    @cached_property
    def nesting(self) -> frozenset[str]:
        """The keys of the functions in which others are nested, which may ask for their names."""
        return frozenset(each.around for each in self._functions.values())

    def function(self, key: str) -> Function | None:
        """The function of this key; None where its graph is not known."""
        return self._functions.get(key)

    def reached(self, root: Function) -> dict[str, Function]:
        """A function and all that its calls lead to, by the keys under which they are called."""
        found, waiting = {root.key: root}, [root]
        while waiting:
            function = waiting.pop()
            for key in self._called(function):
                called = self.function(key)
                if called is not None and key not in found:
                    found[key] = called
                    waiting.append(called)
        return found

    def _entered(self, function: Function) -> list[Function]:
        """The functions that a function calls, as far as their graphs are known."""
        return [called for key in self._called(function) if (called := self.function(key)) is not None]

    def _called(self, function: Function) -> list[str]:
        return self.once(("called", function.key), lambda: list(_called(function.body)))

    @cached_property
    def steps_past(self) -> bool:
        """Whether any function lets an optimizer step past its scaler, also one that no call in sight leads to."""
        return self._happens(OptimizerStep, self._functions.values())

    @cached_property
    def unscales(self) -> bool:
        """Whether any function calls `unscale_`, also one that no call in sight leads to."""
        return self._happens(Unscale, self._functions.values())

    def happens(self, kind: type[Event], root: Function) -> bool:
        """Whether an event of some kind happens in a function, or in what its calls lead to.

        Args:
            kind: the kind.
            root: the function.
        """
        leading = self.once(("leading to", kind), lambda: self._leading_to(kind))
        return self._happens(kind, [root]) or any(each.key in leading for each in self._entered(root))

    def _leading_to(self, kind: type[Event]) -> set[str]:
        """The keys of all functions in which an event of some kind happens, or in what their calls lead to."""
        callers: dict[str, list[Function]] = {}
        for caller in self._functions.values():
            for called in self._entered(caller):
                callers.setdefault(called.key, []).append(caller)
        waiting = [each for each in self._functions.values() if self._happens(kind, [each])]
        found = {each.key for each in waiting}
        while waiting:
            new = {each.key: each for each in callers.get(waiting.pop().key, ()) if each.key not in found}
            found.update(new)
            waiting += new.values()
        return found

    def _happens(self, kind: type[Event], functions: Iterable[Function]) -> bool:
        return any(isinstance(block.step, kind) for each in functions for block in self.graph(each).blocks)

    def graph(self, function: Function) -> FlowGraph:
        """The control-flow graph of a function."""
        if function.key not in self._graphs:
            self._graphs[function.key] = flow_graph(function, function.key in self.nesting)
        return self._graphs[function.key]

    def of(self, function: Function) -> Effects:
        """The effects of a function, so deep as calls are followed."""
        if function.key not in self._effects:
            self._work_out(function)
        return self._effects[function.key]

    def of_call(self, call: Call) -> Effects:
        """The effects of a call, in the references of the caller."""
        if id(call) not in self._of_calls:
            function = self.function(call.function)
            self._of_calls[id(call)] = self._handed_up(call, self.of(function) if function is not None else Effects())
        return self._of_calls[id(call)]

    def _work_out(self, root: Function) -> None:
        """The least effects that agree with those of the callees, for all that a function may call."""
        functions = {each.key: each for each in self.reached(root).values()}
        calls = {
            key: [block.step for block in self.graph(each).blocks if isinstance(block.step, Call)]
            for key, each in functions.items()
        }
        direct = {key: _direct(self.graph(each)) for key, each in functions.items()}
        known = dict(direct)
        changed = set(functions)
        # A recursive function may hand over ever longer references (`node.next`): no call goes deeper than this.
        for _ in range(MAX_DEPTH):
            affected = [key for key in functions if any(call.function in changed for call in calls[key])]
            before = {key: known[key] for key in affected}
            after = {
                key: _union(
                    direct[key], *(self._handed_up(call, known.get(call.function, Effects())) for call in calls[key])
                )
                for key in affected
            }
            known.update(after)
            changed = {key for key in affected if after[key] != before[key]}
            if not changed:
                break
        self._effects.update(known)

    def _handed_up(self, call: Call, effects: Effects) -> Effects:
        """What the effects of a callee are to its caller."""
        function = self.function(call.function)
        if function is None:
            return Effects()
        frame = Frame(function, call.binding, _INNER)
        asked = {name for name in frame.needs(effects.asked) if _INNER not in name}
        for name, condition in call.conditions:
            if key_of(name) in effects.asked:
                asked |= keys_of(condition)
        assigned = {name for each in effects.assigned if _INNER not in (name := frame.ref(each))}
        return Effects(frozenset(asked), frozenset(assigned | ({call.target} if call.target else set())))


def _called(node: Node) -> Iterator[str]:
    """The keys of the functions that are called in a node."""
    if isinstance(node, Call):
        yield node.function
    for part in parts_of(node):
        yield from _called(part)


def _union(*effects: Effects) -> Effects:
    asked = frozenset().union(*(each.asked for each in effects))
    return Effects(asked, frozenset().union(*(each.assigned for each in effects)))


def _direct(graph: FlowGraph) -> Effects:
    """The effects of what a function does itself."""
    asked: set[str] = set()
    assigned: set[str] = set()
    for block in graph.blocks:
        step = block.step
        asked.update(asks(step))
        match step:
            case Assign() | Scale():
                assigned.add(step.target)
                sources = (*step.carried, *step.args) if isinstance(step, Assign) else (step.source,)
                asked.update(each for name in sources for each in reference(name).wholes)
            case Iterate():
                assigned.update(step.loop.targets)
    return Effects(frozenset(asked), frozenset(assigned))


def asks(step: object) -> Iterator[str]:
    """What a step itself asks of a state, other than to hand it on."""
    match step:
        case Ask():
            yield from keys_of(step.condition)
        case Backward():
            yield from reference(step.loss).wholes
        case Report():
            yield from reference(step.value).wholes
        case InnerGrad():
            yield from reference(step.outputs).wholes
