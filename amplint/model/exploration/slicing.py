"""Slices of event graphs (Weiser, ICSE 1981): functions without assignments and branches on which no hazard depends.

What is asked for by events, or by conditions of branches in which anything is left, is wanted; so is what that is computed
from, as far as it tells anything: of what a call is given, only what may be scaled, half, or a gradient. The functions are
looked at together, as what one of them wants another one may assign.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import count

from amplint.model.event_graph import (
    Branch,
    Call,
    Condition,
    Function,
    Jump,
    Loop,
    Node,
    Not,
    Scoped,
    Seq,
    Test,
    Try,
    kinds_of,
    mentioned,
    parts_of,
)  # fmt: skip
from amplint.model.events import (
    Assign,
    Backward,
    Event,
    InnerGrad,
    OptimizerStep,
    Report,
    Scale,
    ScalerStep,
    ScalerUpdate,
    SchedulerStep,
    Unscale,
)  # fmt: skip
from amplint.model.exploration.call_references import RETURN, keys_of
from amplint.model.exploration.handed_names import HandedNames
from amplint.model.exploration.laden_values import LadenValues
from amplint.model.records import changed, frozen
from amplint.model.references import key_of, reference

_TELLING = frozenset({"gate", "moment", "skipped"})
"""Kinds of conditions that tell something of a step by how they come out, also where nothing goes by them."""


def sliced(functions: Mapping[str, Function], roots: Collection[str]) -> dict[str, Function]:
    """The functions that are reached from some, as far as hazards depend on what they do.

    Args:
        functions: the functions, by key.
        roots: the keys of those that are explored.
    """
    names = HandedNames(functions, roots)
    slicer = _Slicer(names, LadenValues(names))
    slicer.look()
    return {key: slicer.slice(function) for key, function in names.functions.items()}


class _Wanted:
    """The names of one function that are wanted: `named` to be assigned, `valued` for their values, too.

    Names of no function's own are wanted everywhere, if they are anywhere.
    """

    def __init__(self, shared: _Wanted | None = None) -> None:
        self.named: set[str] = set()
        self.valued: set[str] = set()
        self.shared = self if shared is None else shared

    def __len__(self) -> int:
        return len(self.named) + len(self.valued)

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


@frozen
class _Inside:
    """What is around a node: its function, whether it is `deciding` (a condition around it changes what is known of a step), and
    whether it is `failing` (somebody handles what fails in it)."""

    function: Function
    deciding: bool = False
    failing: bool = False

    def branch(self, settles: bool) -> _Inside:
        """The same, inside a branch whose condition may settle something."""
        return changed(self, deciding=True) if settles and not self.deciding else self

    @property
    def watched(self) -> _Inside:
        """The same, where a handler takes over."""
        return self if self.failing else changed(self, failing=True)


class _Slicer:
    """Finds out what is wanted, and leaves out what is not.

    Args:
        names: the functions, and what the names of each are to the others.
        laden: the values that tell anything.
    """

    def __init__(self, names: HandedNames, laden: LadenValues) -> None:
        self._names, self._laden = names, laden
        shared = _Wanted()
        self._wanted = {"": shared, **{each.key: _Wanted(shared) for each in names.functions.values()}}
        kinds = set(map(type, names.events()))
        self._asks_count = Unscale in kinds and OptimizerStep in kinds
        """Whether it counts that anything is asked that varies, however it comes out."""
        self._settling = _TELLING | {"varying"} if self._asks_count or SchedulerStep in kinds else frozenset[str]()
        self._anonymous = count()

    # -- what is wanted --------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Go through all functions until nothing more is wanted."""
        before = -1
        while before != (before := sum(map(len, self._wanted.values()))):
            for function in self._names.functions.values():
                self._is_kept(function.body, self._whole(function))

    def _whole(self, function: Function) -> _Inside:
        return _Inside(function, failing=function.key in self._names.guarded)

    def _is_kept(self, node: Node, inside: _Inside) -> bool:
        """Whether anything is left of a node; wants what that depends on."""
        function = inside.function
        match node:
            case Assign():
                if node.truth is None and self._wanted[function.key].has_value(node.target):
                    self._want_operands(node, function)
                return self._is_assigned(node, inside)
            case Branch() | Loop() if node.condition is not None:
                around = inside.branch(self._settles(node.condition, function))
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

    def _any_kept(self, node: Node, inside: _Inside) -> bool:
        """Whether anything is left of the parts of a node: the last goes first, as it tells what is wanted of the others."""
        kept = [self._is_kept(part, inside) for part in reversed(parts_of(node))]
        return any(kept)

    def _is_asked(self, condition: Condition, inside: _Inside, kept: bool) -> bool:
        """Whether a condition is asked, around something that is left or around nothing."""
        if kept or self._counts(condition, inside):
            for name in mentioned(condition):
                self._want(inside.function, name, False)
            return True
        return self._counts_by_itself(condition, inside)

    def _settles(self, condition: Condition, function: Function) -> bool:
        """Whether it changes what is known of a step that a condition is asked."""
        return self._is_of(condition, self._settling, function)

    def _is_of(self, condition: Condition, kinds: frozenset[str], function: Function) -> bool:
        """Whether a condition is of one of some kinds, or is one that a caller hands over, which may be of any."""
        handed = self._names.conditions.get(function.key, ()) if kinds else ()
        return not kinds.isdisjoint(kinds_of(condition)) or any(key in handed for key in keys_of(condition))

    def _counts(self, condition: Condition, inside: _Inside) -> bool:
        """Whether it counts how a condition comes out, around nothing."""
        kinds = self._settling if self._asks_count else self._settling & _TELLING
        return self._is_of(condition, kinds, inside.function) and not _is_plain(condition)

    def _counts_by_itself(self, condition: Condition, inside: _Inside) -> bool:
        """Whether it counts that a condition is asked, however it comes out."""
        return self._asks_count and self._settles(condition, inside.function)

    def _is_assigned(self, assign: Assign, inside: _Inside) -> bool:
        """Whether an assignment is left."""
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
            case Unscale() | ScalerStep() | ScalerUpdate():
                self._want(function, event.scaler, False)

    def _want_called(self, call: Call, function: Function) -> None:
        """Want what a called function wants of this one; and have it assign what this one wants."""
        callee = self._names.functions.get(call.function)
        if callee is None:
            return
        mine, theirs = self._wanted[function.key], self._wanted[callee.key]
        for name in theirs.names(callee.key in self._names.nesting):
            self._want(function, self._names.up(call, name), theirs.has_value(name))
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
            own = self._wanted[function.key if self._names.is_own(each, function) else ""]
            (own.valued if value else own.named).add(each)

    # -- what is left ----------------------------------------------------------------------------------------------

    def slice(self, function: Function) -> Function:
        """What is left of a function."""
        wanted = self._wanted[function.key]
        body = self._left(function.body, self._whole(function))
        return changed(function, body=body, valued=frozenset(wanted.valued | wanted.shared.valued))

    def _left(self, node: Node, inside: _Inside) -> Node:
        """What is left of a node."""
        match node:
            case Assign():
                if not self._is_assigned(node, inside):
                    return Seq()
                return changed(node, args=tuple(self._laden.among(node.args, inside.function)))
            case Seq():
                parts = [self._left(part, inside) for part in node.parts]
                return Seq(tuple(each for part in parts for each in (part.parts if isinstance(part, Seq) else (part,))))
            case Branch():
                around = inside.branch(self._settles(node.condition, inside.function))
                return self._asked(node.condition, [self._left(side, around) for side in parts_of(node)], inside)
            case Loop():
                settles = node.condition is not None and self._settles(node.condition, inside.function)
                body, orelse = (self._left(part, inside.branch(settles)) for part in parts_of(node))
                return changed(node, body=body, orelse=orelse) if body != Seq() or settles else orelse
            case Scoped():
                body = self._left(node.body, inside)
                return Seq() if body == Seq() else changed(node, body=body)
            case Try():
                return self._tried(node, inside)
        return node

    def _asked(self, condition: Condition, sides: list[Node], inside: _Inside) -> Node:
        """What is left of a branch."""
        if sides != [Seq(), Seq()] or self._counts(condition, inside):
            return Branch(condition, *sides)
        if not self._counts_by_itself(condition, inside):
            return Seq()
        return Branch(Test(key_of(f"%asked{next(self._anonymous)}")), *sides)

    def _tried(self, node: Try, inside: _Inside) -> Node:
        body = self._left(node.body, inside)
        if body != Seq() and node.handlers:
            body = self._left(node.body, inside.watched)
        parts = [self._left(part, inside) for part in (*node.handlers, node.orelse, node.final)]
        if body == Seq() and all(part == Seq() for part in parts):
            return Seq()
        return Try(body, tuple(parts[:-2]), parts[-2], parts[-1])


def _is_plain(condition: Condition) -> bool:
    """Whether nothing but its being asked counts of a condition around nothing."""
    while isinstance(condition, Not):
        condition = condition.part
    return isinstance(condition, Test) and condition.kind == "varying"
