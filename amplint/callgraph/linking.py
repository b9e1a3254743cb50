"""Links what callers give (regions, dtypes) to the functions that their calls mean, by following what expressions may hold."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path

from amplint.callgraph.class_bodies import is_false
from amplint.callgraph.definitions import Definition, method_of
from amplint.callgraph.held_values import HeldValues
from amplint.callgraph.import_graph import ImportGraph
from amplint.callgraph.looked_up import alike
from amplint.callgraph.named_objects import NamedObjects
from amplint.callgraph.named_values import Held
from amplint.callgraph.object_answers import ObjectAnswers
from amplint.callgraph.parameters import accepts
from amplint.model.caller_contexts import (
    IN_BASES,
    OR_ATTRIBUTE,
    AskedObject,
    CallerContext,
    CallManner,
    ObjectElsewhere,
    ResultElsewhere,
    Shape,
    Target,
    distinct,
)

_CALLED = re.compile(r"\([^()]*\)$")
"""What a class is called with where an object of it is made."""
_MOST_CHARACTERS = 4_000_000
"""When so much was parsed, its trees are let go of: they take thirty times as much memory, and most are of no use any more."""
_MOST_HELD = 4
"""A name that stands for more functions and classes in a project says nothing, and no more does such an expression."""
_MOST_REGISTERED = 100
"""Of so many functions and classes that a registry may give back, each is looked at."""


class Links:
    """Finds the functions that contexts are for.

    Args:
        graph: the imports between the files of the project.
    """

    def __init__(self, graph: ImportGraph) -> None:
        self.graph = graph
        self._read_anew()
        self._resolved: dict[tuple[Target, str], tuple[Target, ...]] = {}
        self._choices: set[tuple[Target, str]] = set()

    def _read_anew(self) -> None:
        """Begin with no file parsed."""
        self._values = HeldValues(self.graph)
        self._named = NamedObjects(self.graph, self._values)
        self._answers = ObjectAnswers(self.graph, self._values, self._named)
        self._subclasses = self._values.subclasses

    def by_file(self, contexts: Iterable[CallerContext]) -> dict[str, tuple[CallerContext, ...]]:
        """The contexts of the functions of each file, by its path, with the targets as that file defines them."""
        found: dict[str, list[CallerContext]] = {}
        looked_up: dict[Target, list[CallerContext]] = {}
        for context in sorted(contexts, key=attrgetter("caller")):  # those that lean on the same files together
            for target in self._meant(context):
                linked = context._replace(target=target)
                if self._key(context.target, context.caller) in self._choices:
                    looked_up.setdefault(target, []).append(linked)
                else:
                    found.setdefault(target.file, []).append(linked)
        for target, each in looked_up.items():
            found.setdefault(target.file, []).extend(alike(each))
        return {path: distinct(each) for path, each in found.items()}

    def results(
        self, contexts: Iterable[CallerContext], known: Mapping[CallManner, tuple[Shape, ...]]
    ) -> dict[str, tuple[ResultElsewhere, ...]]:
        """What the calls of each file that ask for it are given back, by its path.

        Args:
            contexts: how functions are entered, with the targets as the files that call know them.
            known: what functions give back, with the targets as the files that define them know them.
        """
        found: dict[str, dict[CallManner, ResultElsewhere]] = {}
        for context in contexts if known else ():
            targets = self._meant(context) if context.asks else ()
            ways = [context.way._replace(target=target) for target in targets]
            if ways and all(way in known for way in ways):
                shapes = tuple(dict.fromkeys(shape for way in ways for shape in known[way]))
                sure = len(targets) == 1 and self._is_told(context.target, targets[0], context.caller)
                found.setdefault(context.caller, {})[context.way] = ResultElsewhere(context.way, shapes, sure)
        return {path: tuple(sorted(each.values(), key=repr)) for path, each in found.items()}

    def objects(self, questions: Iterable[AskedObject]) -> dict[str, list[ObjectElsewhere]]:
        """Of which classes the objects are that files ask for, by the path of the file that asks.

        Args:
            questions: what they ask for.
        """
        found: dict[str, list[ObjectElsewhere]] = {}
        for each in sorted(questions):
            given = self._answers.to(each)
            if given is not None:
                found.setdefault(each.file, []).append(given)
        return found

    def _meant(self, context: CallerContext) -> list[Target]:
        """The functions that a context is for; of several, those that can be called with its arguments."""
        targets = self._targets(context.target, context.caller)
        given = [name for name, _ in context.arguments]
        return [each for each in targets if len(targets) == 1 or not given or self._accepts(each, given)]

    def _accepts(self, target: Target, given: list[str]) -> bool:
        found = self._values.definitions.find(Path(target.file), target.name)
        if found is None or not isinstance(found.node, ast.ClassDef):
            return True
        method = method_of(found, target.method or "forward")
        return method is None or bool(method.decorator_list) or accepts(method, given, own=1)

    def _is_told(self, target: Target, linked: Target, caller: str) -> bool:
        """Whether a target names what it is linked to, or the parameter of a function that is given it by the calls in sight."""
        return self._is_named(target, linked) or (not target.file and self._named.is_handed(target.name, Path(caller)))

    def _is_named(self, target: Target, linked: Target) -> bool:
        """Whether a target names the function, or the class of the object, that it is linked to: no table or factory does."""
        name = _CALLED.sub("", target.name) if target.made else target.name
        found = self._values.definitions.find(Path(target.file), name) if target.file else None
        if found is None or isinstance(found.node, ast.ClassDef) != target.made:
            return False
        if target.made and linked.method != target.method:
            held = {(each.definition, each.made) for each in self._values.of_attribute(found, target.method) or ()}
            part, made = held.pop() if len(held) == 1 else (found, False)
            return made and (str(part.path), part.node.name) == (linked.file, linked.name)
        return (str(found.path), found.node.name) == (linked.file, linked.name)

    def _targets(self, target: Target, caller: str) -> tuple[Target, ...]:
        key = self._key(target, caller)
        if key not in self._resolved:
            if self._values.definitions.characters > _MOST_CHARACTERS:
                self._read_anew()
            some = _distinct(self._held(target, caller)) if self._may_have(target, caller) else []
            found = (self._called(each, target, caller) for each in some if _says_something(some))
            self._resolved[key] = tuple(target for targets in found for target in targets)
            if any(each.registry for each in some):
                self._choices.add(key)
            if target.lookup == OR_ATTRIBUTE and not any(map(self._has_method, self._resolved[key])):
                self._take_attribute(target, caller)
        return self._resolved[key]

    def _take_attribute(self, target: Target, caller: str) -> None:
        """Where no class has the method that is called on an object, an attribute may hold what is called:
        `self.model.criterion(x)`."""
        attribute = target._replace(name=target.method, method="", lookup="")
        self._resolved[self._key(target, caller)] = self._targets(attribute, caller)
        if self._key(attribute, caller) in self._choices:
            self._choices.add(self._key(target, caller))

    def _has_method(self, target: Target) -> bool:
        """Whether the class of a target has the method, or inherits it in the project."""
        definitions = self._values.definitions
        owner = definitions.find(Path(target.file), target.name)
        return owner is not None and definitions.method(owner, target.method) is not None

    def _may_have(self, target: Target, caller: str) -> bool:
        """Whether a class that is led to together with the caller may have the method that is called: what defines none of its
        name, as `logger.info` and `group.size`, needs no search for the object."""
        defines = [f"def {target.method}".encode(), *([f"self.{target.method}".encode()] if target.file else ())]
        return not target.method or any(
            any(map(self.graph.content(path).holds, defines)) for path in self.graph.family(Path(target.file or caller))
        )

    def _held(self, target: Target, caller: str) -> Iterator[Held]:
        """What the expression, or the name, of a target may hold."""
        if target.file:
            return self._values.of(Path(target.file), target.name)
        return self._named.under(target.name, Path(caller), target.method)

    def _key(self, target: Target, caller: str) -> tuple[Target, str]:
        return target, "" if target.file not in ("", caller) else caller

    def _called(self, held: Held, target: Target, caller: str) -> list[Target]:
        """The functions that run when what an expression holds is called as a target says."""
        definition, made = held.definition, held.made
        is_class = isinstance(definition.node, ast.ClassDef)
        if (is_class and not made) or (target.method and not (is_class and made)):
            return []
        if is_class and target.file == caller == str(definition.path) and target.name == f"{definition.node.name}()":
            return self._own_methods(definition, target)
        behind = self._values.of_property(definition, target.method) if target.method else None
        if behind is None and target.method and target.file:
            behind = self._values.of_attribute(definition, target.method)
        if behind is None:
            inherited = self._subclasses.inherited_from(definition, target.method or "forward") if is_class else None
            if inherited is not None:
                return [_of_class(inherited, target)]
            return [Target(str(definition.path), definition.node.name, made, target.method, given=held.given)]
        return [found for each in behind for found in self._called(each, target._replace(method=""), caller)]

    def _own_methods(self, owner: Definition, target: Target) -> list[Target]:
        """What runs when an object calls a method of its own that its class does not have in its file: methods of subclasses, and
        the one that it inherits."""
        name, is_super = target.method or "forward", target.lookup == IN_BASES
        if is_super and self._subclasses.are_combined(owner):
            return []
        inherited = self._subclasses.inherited_from(owner, name, is_replaced=is_super)
        below = [] if is_super else self._subclasses.overriding(owner, name)
        meant = [each for each in below if not (target.switch and is_false(each.node, target.switch))]
        return [_of_class(each, target) for each in (*meant, *([inherited] if inherited is not None else ()))]


def _of_class(owner: Definition, target: Target) -> Target:
    """The method that a target says, as a class has it."""
    return Target(str(owner.path), owner.node.name, True, target.method)


def _distinct(held: Iterable[Held]) -> list[Held]:
    """The different ones; not many more than say anything."""
    found: dict[Held, None] = {}
    for each in held:
        found[each] = None
        if not _says_something([*found]):
            break
    return list(found)


def _says_something(held: list[Held]) -> bool:
    """Whether so few things may be held that each is worth a look: a registry is one, as long as it is no catalogue."""
    sources = {each.registry or each._replace(given=()) for each in held}
    return len(sources) <= _MOST_HELD and len(held) <= _MOST_REGISTERED
