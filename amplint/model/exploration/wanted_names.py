"""The names that hazards depend on, in each function: those that are wanted.

What is asked for by events, or by conditions of branches in which anything is left, is wanted; so is what that is computed
from, as far as it tells anything: of what a call is given, only what may be scaled, half, or a gradient. The functions are
looked at together, as what one of them wants another one may assign.
"""

from __future__ import annotations

from collections.abc import Iterator

from amplint.model.event_graph import (
    Branch,
    Call,
    Condition,
    Function,
    Jump,
    Loop,
    Node,
    Scoped,
    Seq,
    Try,
    mentioned,
    parts_of,
)  # fmt: skip
from amplint.model.events import (
    Assign,
    Backward,
    Event,
    InnerGrad,
    Report,
    Scale,
    ScalerStep,
    ScalerUpdate,
    Unscale,
)  # fmt: skip
from amplint.model.exploration.call_references import RETURN
from amplint.model.exploration.handed_names import HandedNames
from amplint.model.exploration.laden_values import LadenValues
from amplint.model.exploration.settling_conditions import SettlingConditions
from amplint.model.records import changed, frozen
from amplint.model.references import reference


@frozen
class Inside:
    """What is around a node: its function, whether it is `deciding` (a condition around it changes what is known of a step), and
    whether it is `failing` (somebody handles what fails in it)."""

    function: Function
    deciding: bool = False
    failing: bool = False

    def branch(self, settles: bool) -> Inside:
        """The same, inside a branch whose condition may settle something."""
        return changed(self, deciding=True) if settles and not self.deciding else self

    @property
    def watched(self) -> Inside:
        """The same, where a handler takes over."""
        return self if self.failing else changed(self, failing=True)


class _Names:
    """The names of one function that are wanted: `named` to be assigned, `valued` for their values, too.

    Names of no function's own are wanted everywhere, if they are anywhere.
    """

    def __init__(self, shared: _Names | None = None) -> None:
        self.named: set[str] = set()
        self.valued: set[str] = set()
        self.shared = self if shared is None else shared

    def has(self, name: str) -> bool:
        """Whether an assignment to a name is wanted."""
        return any(name in each for each in (self.named, self.valued, self.shared.named, self.shared.valued))

    def names(self, shared: bool) -> Iterator[str]:
        """All names that are wanted; with `shared`, those of no function's own, too."""
        for wanted in {id(each): each for each in (self, self.shared if shared else self)}.values():
            yield from [*wanted.named, *wanted.valued]

    def has_value(self, name: str) -> bool:
        """Whether a value is wanted."""
        return name in self.valued or name in self.shared.valued


class Wanted:
    """What is wanted of some functions, once all of them have been looked at.

    Args:
        names: the functions, and what the names of each are to the others.
        laden: the values that tell anything.
        conditions: which conditions count.
    """

    def __init__(self, names: HandedNames, laden: LadenValues, conditions: SettlingConditions) -> None:
        self._names, self._laden = names, laden
        shared = _Names()
        self._wanted = {"": shared, **{each.key: _Names(shared) for each in names.functions.values()}}
        self._conditions = conditions
        self._grown: set[str] = set()
        """The keys of the functions of which more has become wanted since they were last looked at."""
        self._handed: dict[int, set[tuple[str, bool]]] = {}
        """What each call has handed up so far."""
        self._look()

    def valued(self, function: Function) -> frozenset[str]:
        """The names of a function whose values are wanted."""
        wanted = self._wanted[function.key]
        return frozenset(wanted.valued | wanted.shared.valued)

    def _look(self) -> None:
        """Look at each function, callees first, and again when more is wanted of it, or of one that it calls."""
        callers: dict[str, set[str]] = {}
        for caller, calls in self._names.calls.items():
            for call in calls:
                callers.setdefault(self._names.functions[call.function].key, set()).add(caller)
        by_key: dict[str, list[Function]] = {}
        for function in self._names.functions.values():
            by_key.setdefault(function.key, []).append(function)
        waiting = dict.fromkeys(reversed(by_key))
        while waiting:
            key = next(iter(waiting))
            del waiting[key]
            for function in by_key[key]:
                self._is_kept(function.body, self.whole(function))
            if "" in self._grown:
                waiting.update(dict.fromkeys(by_key))
            for grown in sorted(self._grown - {""}):
                waiting.update(dict.fromkeys([grown, *sorted(callers.get(grown, ()))]))
            self._grown.clear()

    def whole(self, function: Function) -> Inside:
        """What is around the whole of a function."""
        return Inside(function, failing=function.key in self._names.guarded)

    def _is_kept(self, node: Node, inside: Inside) -> bool:
        """Whether anything is left of a node; wants what that depends on."""
        function = inside.function
        match node:
            case Assign():
                if node.truth is None and self._wanted[function.key].has_value(node.target):
                    self._want_operands(node, function)
                return self.is_assigned(node, inside)
            case Branch() | Loop() if node.condition is not None:
                around = inside.branch(self._conditions.settles(node.condition, function))
                kept = self._any_kept(node, around) or (isinstance(node, Loop) and around.deciding)
                return self._is_asked(node.condition, around, kept)
            case Seq() | Scoped() | Loop():
                return self._any_kept(node, inside)
            case Try():
                if node.handlers and self._is_kept(node.body, inside):
                    self._is_kept(node.body, inside.watched)
                return self._any_kept(node, inside)
            case Jump():
                if node.kind == "return" and self._wanted[function.key].has_value(RETURN):
                    self._want_operands(node, function)
            case Call():
                self._want_called(node, function)
            case Event():
                self._want_event(node, function)
        return True

    def _any_kept(self, node: Node, inside: Inside) -> bool:
        """Whether anything is left of the parts of a node: the last goes first, as it tells what is wanted of the others."""
        kept = [self._is_kept(part, inside) for part in reversed(parts_of(node))]
        return any(kept)

    def _is_asked(self, condition: Condition, inside: Inside, kept: bool) -> bool:
        """Whether a condition is asked, around something that is left or around nothing."""
        if kept or self._conditions.counts(condition, inside.function):
            for name in mentioned(condition):
                self._want(inside.function, name, False)
            return True
        return self._conditions.counts_by_itself(condition, inside.function)

    def is_assigned(self, assign: Assign, inside: Inside) -> bool:
        """Whether hazards depend on an assignment.

        Args:
            assign: the assignment.
            inside: what is around it.
        """
        if self._wanted[inside.function.key].has(assign.target) or (inside.failing and assign.computes):
            return True
        decides = assign.truth is not None and assign.carried != ("None",)
        return inside.deciding and decides and assign.target not in inside.function.flags

    def _want_operands(self, computed: Assign | Jump, function: Function) -> None:
        for name in (*computed.carried, *self._laden.among(computed.args, function)):
            self._want(function, name, True)

    def _want_event(self, event: Event, function: Function) -> None:
        match event:
            case Backward(loss=name) | Report(value=name) | InnerGrad(outputs=name):
                self._want(function, name, True)
            case Scale():
                self._want(function, event.scaler, False)
                if self._wanted[function.key].has_value(event.target):
                    self._want(function, event.source, True)
            case Unscale() | ScalerStep():
                self._want(function, event.scaler, False)
                self._want(function, event.optimizer, False)
            case ScalerUpdate():
                self._want(function, event.scaler, False)

    def _want_called(self, call: Call, function: Function) -> None:
        """Want what a called function wants of this one; and have it assign what this one wants."""
        callee = self._names.functions.get(call.function)
        if callee is None:
            return
        mine, theirs = self._wanted[function.key], self._wanted[callee.key]
        handed = self._handed.setdefault(id(call), set())
        for name in theirs.names(callee.key in self._names.nesting):
            wanted = name, theirs.has_value(name)
            if wanted not in handed:
                handed.add(wanted)
                self._want(function, self._names.up(call, name), wanted[1])
        for name, condition in call.conditions:
            if theirs.has(name):
                for each in mentioned(condition):
                    self._want(function, each, False)
        for name in self._names.outward[callee.key]:
            above = self._names.up(call, name)
            if above and mine.has(above):
                self._want(callee, name, mine.has_value(above))
        if call.target and mine.has_value(call.target):
            self._want(callee, RETURN, True)

    def _want(self, function: Function, name: str, value: bool) -> None:
        for each in reference(name).wholes:
            key = function.key if self._names.is_own(each, function) else ""
            wanted = self._wanted[key].valued if value else self._wanted[key].named
            if each not in wanted:
                wanted.add(each)
                self._grown.add(key)
