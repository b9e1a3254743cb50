"""The static witness at work: explores every function of a file, and files the hazards with their places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import libcst as cst

from amplint.lowering.classes import ClassInfo
from amplint.lowering.structure import events_in, without_idle_calls
from amplint.lowering.summaries import Program
from amplint.model.events import GLOBAL, Assign, Backward, Escape, Event, Leave, ObjectFacts, Scale, ScalerStep
from amplint.model.frames import Frame
from amplint.model.graph import Call, Function
from amplint.model.hazards import Hazard
from amplint.model.paths import MAX_DEPTH, Explorer
from amplint.model.torch_api import GRAD_SCALER


@dataclass(frozen=True)
class Entry:
    """A function that is explored: with the graphs that its calls may enter, and what is known of the objects in all of them.

    `heir` is the class that inherits the function, where it is explored with the methods that this class overrides.
    """

    function: Function
    functions: Mapping[str, Function]
    objects: Mapping[str, ObjectFacts]
    nothing_scales: bool = False
    heir: str = ""


@dataclass(frozen=True)
class Found:
    """A hazard in a file: with the node it stands at, and the nodes of the other half by label."""

    hazard: Hazard
    node: cst.CSTNode
    related: Mapping[str, cst.CSTNode]
    root: Explorer
    scaler: ObjectFacts
    entry: Entry
    origin: cst.CSTNode | None = None
    """Where it happens, when that is in another file: `node` is the call that leads there."""
    here: bool = True
    """Whether the nodes of the other half are all in this file, where a fix can reach them."""

    @property
    def whole(self) -> bool:
        """Whether both halves are in this file."""
        return self.here and self.origin is None


class Analysis:
    """The hazards of one file."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._alone: dict[str, frozenset[tuple[str, cst.CSTNode]]] = {}
        self._below: dict[str, frozenset[int]] = {}

    @cached_property
    def _graphs(self) -> dict[str, Function]:
        return self.program.graphs()

    @cached_property
    def functions(self) -> dict[str, Function]:
        """The graphs of all functions, without calls of what does nothing to AMP's objects."""
        return without_idle_calls(self._graphs)

    @property
    def amp_tests(self) -> set[cst.If]:
        """The `if` statements that ask whether AMP is on."""
        return self.program.amp_tests if self._graphs else set()  # reading the graphs is what finds them

    @property
    def amp_needed(self) -> set[cst.If]:
        """The `if` statements that ask whether AMP is on, and perhaps whether there is a device for it."""
        return self.program.amp_needed if self._graphs else set()

    @cached_property
    def _explored(self) -> tuple[tuple[Entry, Explorer], ...]:
        """What the paths of every entry have shown."""
        if not self._trains():
            return ()
        return tuple((entry, _explore(entry)) for entry in self.entries)

    @property
    def gave_up(self) -> bool:
        """Whether the bound was met in some function, of which nothing is known then."""
        return any(explorer.gave_up for _, explorer in self._explored)

    @cached_property
    def hazards(self) -> tuple[Found, ...]:
        """All hazards, one for each kind and place; what a function shows by itself goes before what a caller shows."""
        found: dict[tuple[str, int], tuple[Hazard, Explorer, Entry, int]] = {}
        for entry, explorer in self._explored:
            for hazard in explorer.hazards:
                site = self._site_here(hazard)
                if site < 0:
                    continue
                place = (hazard.kind, site)
                hazard = replace(hazard, root=entry.function.key)
                if place not in found or (found[place][0].inlined and not hazard.inlined):
                    found[place] = (hazard, explorer, entry, site)
        return tuple(self._place(*each) for _, each in sorted(found.items(), key=lambda each: each[0]))

    def _site_here(self, hazard: Hazard) -> int:
        """Where a hazard stands in this file: itself, or the call that leads to it; -1 when it is another file's own."""
        if self._is_here(hazard.site):
            return hazard.site
        here = [call for call in hazard.calls if self._is_here(call[0])] or self._leading_to(hazard)
        if not here:
            return -1
        site, entered = here[-1]
        return -1 if (hazard.kind, self.program.places[hazard.site]) in self._shown_alone(entered) else site

    def _leading_to(self, hazard: Hazard) -> list[tuple[int, str]]:
        """The only call, in the function that showed a hazard, that leads to where it happened; empty for none and several."""
        calls = [each for each in events_in(self.functions[hazard.root].body) if isinstance(each, Call)]
        found = [(call.site, call.function) for call in calls if hazard.site in self._sites_below(call.function)]
        return found if len(found) == 1 and self._is_here(found[0][0]) else []

    def _sites_below(self, key: str) -> frozenset[int]:
        """The sites of a function and of all that it may call."""
        if key not in self._below:
            self._below[key] = frozenset()  # stands while it is worked out: a function may call itself
            found: set[int] = set()
            for each in events_in(self.functions[key].body):
                found |= self._sites_below(each.function) if isinstance(each, Call) else set()
                found.add(getattr(each, "site", -1))
            self._below[key] = frozenset(found)
        return self._below[key]

    def _is_here(self, site: int) -> bool:
        tree = self.program.tree
        return tree.root(self.program.places[site]) is tree.module

    def _shown_alone(self, key: str) -> frozenset[tuple[str, cst.CSTNode]]:
        """The hazards, by kind and place, that a function of another file shows whoever calls it."""
        if key not in self._alone:
            node, program = self.program.definition(key), self._for_itself
            assert isinstance(node, cst.FunctionDef)
            own_key, graphs = program.graphs_below(node)
            functions = without_idle_calls(graphs)
            entry = Entry(functions[own_key], functions, self._objects(functions[own_key], functions))
            self._alone[key] = frozenset((each.kind, program.places[each.site]) for each in _explore(entry).hazards)
        return self._alone[key]

    @cached_property
    def _for_itself(self) -> Program:
        return self.program.for_itself()

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """What is explored, in the order of the file."""
        return tuple(
            Entry(function, functions, self._objects(function, functions), self._nothing_scales, heir)
            for function, functions, heir in self._roots()
        )

    def _trains(self) -> bool:
        """Whether the file calls anything by the names of the protocol, or makes a scaler that other files work with;
        without, no graph needs to be made."""
        called = {
            call.func.attr.value for call in self.program.tree.find(cst.Call) if isinstance(call.func, cst.Attribute)
        }
        if "backward" in called or {"step", "update"} <= called or {"step", "scale"} <= called:
            return True
        hands_on = "step" in called or any(self.program.names.references(GRAD_SCALER))
        if hands_on and self.program.leads_elsewhere():
            return True
        return any("clip_grad" in name for name in called) and bool(self.program.templates)

    @cached_property
    def _nothing_scales(self) -> bool:
        """Whether every scaler in this file is made in it, and none of them scales anything or leaves its sight."""
        facts = [
            each for function in self.functions.values() for each in function.objects.values() if each.role == "scaler"
        ]
        events = (event for function in self.functions.values() for event in events_in(function.body))
        return (
            bool(facts)
            and all(each.made for each in facts)
            and not any(isinstance(each, (Scale, Escape)) for each in events)
        )

    def _roots(self) -> Iterator[tuple[Function, Mapping[str, Function], str]]:
        """What is explored: every function in which something happens; inherited methods once more for each class that
        overrides what they call, with the overriding methods in place."""
        training = self._training(self.functions)
        own = (key for key in self.program.definitions if key in training)
        yield from ((self.functions[key], self.functions, "") for key in own)
        for info in self.program.classes.by_node.values():
            overridden = self._overridden(info)
            if not any(map(_is_busy, overridden.values())):
                continue
            functions = without_idle_calls({**self._graphs, **overridden})
            training = self._training(functions)
            for base in info.lineage[1:]:
                inherited = [self.program.key(node) for name, node in base.methods.items() if info.method(name) is node]
                yield from ((functions[key], functions, info.node.name.value) for key in inherited if key in training)

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

    def _overridden(self, info: ClassInfo) -> dict[str, Function]:
        """The graphs that stand for the methods of the bases in an instance of this class."""
        replaced: dict[str, Function] = {}
        for base in info.lineage[1:]:
            for name, node in base.methods.items():
                own = info.methods.get(name)
                if own is None:
                    continue
                key, graph = self.program.key(node), self._graphs[self.program.key(own)]
                calls_base = any(isinstance(event, Call) and event.function == key for event in events_in(graph.body))
                if not calls_base:
                    replaced[key] = graph
        return replaced

    def _place(self, hazard: Hazard, explorer: Explorer, entry: Entry, site: int) -> Found:
        places = self.program.places
        related = {label: places[other] for label, other in hazard.related if other >= 0}
        scaler = entry.objects.get(hazard.scaler, ObjectFacts())
        origin = places[hazard.site] if site != hazard.site else None
        here = all(self._is_here(other) for _, other in hazard.related if other >= 0)
        return Found(hazard, places[site], related, explorer, scaler, entry, origin, here)

    def of(self, kind: str, elsewhere: bool = False) -> list[Found]:
        """The hazards of one kind, in source order; `elsewhere` also those that happen in another file."""
        all_ = (found for found in self.hazards if found.hazard.kind == kind)
        return [found for found in all_ if found.origin is None or elsewhere]

    @staticmethod
    def _objects(function: Function, functions: Mapping[str, Function]) -> dict[str, ObjectFacts]:
        """What is known of the references in a function and in all that it may call, as the function itself would write them."""
        objects: dict[str, ObjectFacts] = {}
        waiting, seen = [(function, 0, Frame(function))], {(function.key, "self")}
        while waiting:
            current, depth, frame = waiting.pop(0)
            for name, facts in current.objects.items():
                shared = name.startswith((GLOBAL, "self."))
                if (current is function or shared) and (reference := frame.ref(name)):
                    objects.setdefault(reference, facts)
            for event in events_in(current.body):
                if isinstance(event, Call) and depth < MAX_DEPTH:
                    binding = tuple((name, frame.ref(value)) for name, value in event.binding if _is_object(name))
                    called = event.function, dict(binding).get("self", "self")
                    if called not in seen:
                        seen.add(called)
                        waiting.append(
                            (functions[event.function], depth + 1, Frame(functions[event.function], binding))
                        )
        return objects


def _is_object(parameter: str) -> bool:
    """Whether a parameter is the object that a method is called on, or an attribute of it."""
    return parameter == "self" or parameter.startswith("self.")


def _explore(entry: Entry) -> Explorer:
    explorer = Explorer(entry.functions, entry.objects, entry.nothing_scales)
    explorer.run(entry.function)
    return explorer


def _is_busy(function: Function) -> bool:
    """Whether anything happens in a function but plain computation."""
    return any(
        isinstance(event, (Event, Call)) and not isinstance(event, (Assign, Leave))
        for event in events_in(function.body)
    )
