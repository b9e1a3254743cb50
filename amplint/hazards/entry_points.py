"""What is explored of a file: the functions in which something happens, with the graphs that their calls may enter."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property

from amplint.hazards.class_switches import as_switched_by
from amplint.hazards.function_events import FunctionEvents
from amplint.hazards.heirs import Heirs
from amplint.hazards.objects_in_reach import objects_in
from amplint.hazards.possible_hazards import PossibleHazards
from amplint.hazards.training_code import TrainingCode
from amplint.hazards.unscaling import Unscaling
from amplint.lowering.graph_tools import events_in
from amplint.lowering.graphs import Graphs
from amplint.lowering.linked_graphs import linked
from amplint.lowering.program import Program
from amplint.model.event_graph import Call, Function, Jump, Loop, Node, Scoped, Test, parts_of
from amplint.model.events import Assign, Backward, Escape, ObjectFacts, Scale, ScalerStep
from amplint.model.exploration.effects import Flows
from amplint.model.exploration.explorer import Explorer
from amplint.model.exploration.written_explorations import Exploration, basis_of
from amplint.model.records import frozen
from amplint.model.references import key_of
from amplint.syntax.classes import ClassInfo
from amplint.system.memory import Kept, in_use

_SOMETHING = ObjectFacts(role="optimizer")
"""What is known of an optimizer of which nothing is known: also of options that are called `opt`."""


@frozen
class Entry:
    """A function that is explored: with the graphs that its calls may enter, and what is known of the objects in all of them.

    `nobody_unscales` is whether nobody in sight has unscaled the gradients that it finds.
    `heir` is the class that inherits the function, where it is explored with the methods that this class overrides.
    """

    function: Function
    functions: Mapping[str, Function]
    objects: Mapping[str, ObjectFacts]
    nothing_scales: bool = False
    nobody_unscales: bool = False
    heir: str = ""
    flows: Flows | None = field(default=None, compare=False, repr=False)
    """The control-flow graphs of `functions`, which entries may share."""

    @cached_property
    def explored(self) -> Flows:
        """The graphs as far as hazards depend on them."""
        return (self.flows or Flows(self.functions, (self.function.key,))).sliced

    @property
    def sliced(self) -> Function:
        """The function as far as hazards depend on what it does."""
        return self.explored.function(self.function.key) or self.function


class Entries:
    """The entries of one file."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._graphs = Graphs(program)
        self.training = TrainingCode(program)

    @cached_property
    def graphs(self) -> dict[str, Function]:
        """The graphs of all functions that tell."""
        return self._graphs.telling()

    @cached_property
    def everything(self) -> dict[str, Function]:
        """The graphs of all functions, without calls of what does nothing to AMP's objects."""
        return linked(self._graphs.all())

    @cached_property
    def functions(self) -> dict[str, Function]:
        """The same, without calls of what does nothing to AMP's objects."""
        return linked(self.graphs)

    @cached_property
    def all(self) -> tuple[Entry, ...]:
        """What is explored, in the order of the file."""
        if not self.training.is_there:
            return ()
        roots = list(self._roots())
        keys: dict[int, list[str]] = {}
        for function, functions, _ in roots:
            keys.setdefault(id(functions), []).append(function.key)
        graphs = {id(functions): functions for _, functions, _ in roots}
        flows = {each: Flows(functions, keys[each]) for each, functions in graphs.items()}
        inside = {each: FunctionEvents(functions) for each, functions in graphs.items()}
        called = {each: set().union(*map(inside[each].called, keys[each])) for each in graphs}
        return tuple(
            Entry(
                function,
                functions,
                self._objects(function, functions, heir),
                self._nothing_scales,
                function.key not in called[id(functions)]
                and self.unscaling.nobody_before(function.key, inside[id(functions)]),
                heir.name if heir is not None else "",
                flows[id(functions)],
            )
            for function, functions, heir in roots
        )

    def _objects(
        self, function: Function, functions: Mapping[str, Function], heir: ClassInfo | None
    ) -> Mapping[str, ObjectFacts]:
        objects = objects_in(function, functions)
        return as_switched_by(heir, objects, self._program.classes.by_name) if heir is not None else objects

    @cached_property
    def unscaling(self) -> Unscaling:
        """Who unscales in the file."""
        return Unscaling(self._program)

    @cached_property
    def _nothing_scales(self) -> bool:
        """Whether every scaler in this file is made in it, and none of them scales anything or leaves its sight."""
        # Of most files, the functions that tell are enough to deny it.
        return _scale_nothing(self.graphs.values()) and _scale_nothing(self.everything.values())

    def _roots(self) -> Iterator[tuple[Function, Mapping[str, Function], ClassInfo | None]]:
        """What is explored: every function in which something happens; inherited methods once more for each class that
        overrides what they call, with the overriding methods in place."""
        training = self._training(self.functions)
        for key in self._program.definitions:
            if key in training:
                functions = self._heirs.functions(key)
                yield functions[key], functions, None
        for info in self._heirs.classes:
            functions = self._heirs.with_overrides((info,))
            training = self._training(functions)
            for base in info.lineage[1:]:
                inherited = [
                    self._program.key(node) for name, node in base.methods.items() if info.method(name) is node
                ]
                yield from ((functions[key], functions, info) for key in inherited if key in training)

    @cached_property
    def _heirs(self) -> Heirs:
        return Heirs(self._program, self.graphs, self.functions)

    @staticmethod
    def _training(functions: Mapping[str, Function]) -> set[str]:
        """The functions that run a backward pass or a scaler's step, by themselves or through what they call: no other
        function can be hazardous."""
        events = {key: list(events_in(function.body)) for key, function in functions.items()}
        found = {key for key in events if any(isinstance(event, (Backward, ScalerStep)) for event in events[key])}
        while True:
            more = {
                key
                for key in events.keys() - found
                if any(isinstance(event, Call) and event.function in found for event in events[key])
            }
            if not more:
                return found
            found |= more


def _scale_nothing(functions: Collection[Function]) -> bool:
    """Whether functions have scalers that they made themselves, and none of them scales anything or leaves their sight."""
    facts = [each for function in functions for each in function.objects.values() if each.role == "scaler"]
    if not facts or not all(each.made for each in facts):
        return False
    events = (event for function in functions for event in events_in(function.body))
    return not any(isinstance(each, (Scale, Escape)) for each in events)


def worth_exploring(entries: Sequence[Entry]) -> Iterator[Entry]:
    """The entries in which a hazard is possible, without those in which nothing happens but one call of another entry, as in
    many a `main` and module."""
    possible = {id(entry.functions): PossibleHazards(entry.functions) for entry in entries}
    hazardous = [entry for entry in entries if possible[id(entry.functions)].any_in(entry.function.key)]
    alone = {entry.function.key for entry in hazardous if not entry.heir}
    return (entry for entry in hazardous if entry.heir or _hands_nothing_to(entry.sliced) not in alone)


def _hands_nothing_to(function: Function) -> str:
    """The key of the function whose one call is all that happens in a function, once, and without a known object or more of a
    condition than a name that it has itself: what that one shows by itself, it shows here; empty where more happens."""
    happening = [event for event in events_in(function.body) if not isinstance(event, (Assign, Jump, Escape))]
    call = happening[0] if len(happening) == 1 else None
    if not isinstance(call, Call) or call.function == function.key or _is_amid(call, function.body):
        return ""
    if not all(isinstance(each, Test) and each.key == key_of(name) for name, each in call.conditions):
        return ""
    given = [function.objects.get(value, _SOMETHING) for _, value in call.binding]
    return call.function if all(facts == _SOMETHING for facts in given) else ""


def _is_amid(call: Call, node: Node) -> bool:
    """Whether a call stands in a loop or a region below a node; in a `try`, what is raised comes to where nothing happens."""
    around = isinstance(node, (Loop, Scoped)) and call in events_in(node)
    return around or any(_is_amid(call, part) for part in parts_of(node))


def explore(entry: Entry) -> Exploration:
    """What every path of an entry shows; they are not followed again where that is remembered."""
    memory = in_use()
    if not memory.keeps(Kept.EXPLORATIONS):
        return _followed(entry)
    on = basis_of(entry.sliced, entry.explored, entry.objects, entry.nothing_scales, entry.nobody_unscales)
    if on is None:
        return _followed(entry)
    known = memory.known(Kept.EXPLORATIONS, on.digest)
    if known is not None:
        return on.read(known)
    exploration = _followed(entry)
    written = on.written(exploration)
    memory.keep(Kept.EXPLORATIONS, on.digest, written, len(written))
    return exploration


def _followed(entry: Entry) -> Exploration:
    explorer = Explorer(entry.explored, entry.objects, entry.nothing_scales, entry.nobody_unscales)
    explorer.run(entry.function)
    return Exploration(tuple(explorer.hazards), tuple(explorer.events), explorer.gave_up, explorer.degraded)
