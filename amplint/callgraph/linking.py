"""Links what callers give (regions, dtypes) to the functions that their calls mean, by following what expressions may hold.

Where only the name of an object is known (a parameter, say), it is taken for what the calls in sight give, and for what the
project assigns to this name, as long as some file leads to both: a call graph by names of fields (Feldthaus et al., ICSE 2013).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from pathlib import Path

from amplint.callgraph.definitions import Definition
from amplint.callgraph.held_values import Held, HeldValues
from amplint.callgraph.import_graph import ImportGraph
from amplint.callgraph.looked_up import alike
from amplint.callgraph.parameters import accepts, takes
from amplint.callgraph.subclasses import Subclasses, is_false
from amplint.model.caller_contexts import CallerContext, CallManner, ResultElsewhere, Shape, Target, distinct

_CALLED = re.compile(r"\([^()]*\)$")
"""What a class is called with where an object of it is made."""
_MOST_CHARACTERS = 4_000_000
"""When so much was parsed, its trees are let go of: they take thirty times as much memory, and most are of no use any more."""
_MOST_HELD = 4
"""A name that stands for more functions and classes in a project says nothing, and no more does such an expression."""
_MOST_ASSIGNING = 60
"""A name that more files of a project give a value is a word of every day: `logger`, `group`, `kwargs`."""
_MOST_REGISTERED = 40
"""Of so many functions and classes that a registry may give back, each is looked at."""


class Links:
    """Finds the functions that contexts are for.

    Args:
        graph: the imports between the files of the project.
    """

    def __init__(self, graph: ImportGraph) -> None:
        self.graph = graph
        self._values = HeldValues(self.graph)
        self._subclasses = Subclasses(self.graph, self._values.definitions)
        self._resolved: dict[tuple[Target, str], tuple[Target, ...]] = {}
        self._choices: set[tuple[Target, str]] = set()
        self._under: dict[tuple[Path, str, str], list[Held]] = {}

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
                sure = len(targets) == 1 and self._is_named(context.target, targets[0])
                found.setdefault(context.caller, {})[context.way] = ResultElsewhere(context.way, shapes, sure)
        return {path: tuple(sorted(each.values(), key=repr)) for path, each in found.items()}

    def _meant(self, context: CallerContext) -> list[Target]:
        """The functions that a context is for; of several, those that can be called with its arguments."""
        targets = self._targets(context.target, context.caller)
        given = [name for name, _ in context.arguments]
        return [each for each in targets if len(targets) == 1 or not given or self._accepts(each, given)]

    def _accepts(self, target: Target, given: list[str]) -> bool:
        found = self._values.definitions.find(Path(target.file), target.name)
        if found is None or not isinstance(found.node, ast.ClassDef):
            return True
        methods = (each for each in found.node.body if isinstance(each, ast.FunctionDef))
        method = next((each for each in methods if each.name == (target.method or "forward")), None)
        return method is None or bool(method.decorator_list) or accepts(method, given, own=1)

    def _is_named(self, target: Target, linked: Target) -> bool:
        """Whether a target names the function, or the class of the object, that it is linked to: no table or factory does."""
        name = _CALLED.sub("", target.name) if target.made else target.name
        found = self._values.definitions.find(Path(target.file), name) if target.file else None
        if found is None or (str(found.path), found.node.name) != (linked.file, linked.name):
            return False
        return isinstance(found.node, ast.ClassDef) == target.made

    def _targets(self, target: Target, caller: str) -> tuple[Target, ...]:
        key = self._key(target, caller)
        if key not in self._resolved:
            if self._values.definitions.characters > _MOST_CHARACTERS:
                self._values = HeldValues(self.graph)
                self._subclasses = Subclasses(self.graph, self._values.definitions)
                self._under.clear()
            some = _distinct(self._held(target, caller)) if self._may_have(target, caller) else []
            found = (self._called(each, target, caller) for each in some if _says_something(some))
            self._resolved[key] = tuple(target for targets in found for target in targets)
            if any(each.registry for each in some):
                self._choices.add(key)
        return self._resolved[key]

    def _may_have(self, target: Target, caller: str) -> bool:
        """Whether a class that is led to together with the caller may have the method that is called: what defines none of its
        name, as `logger.info` and `group.size`, needs no search for the object."""
        defines = f"def {target.method}".encode()
        return not target.method or any(
            self.graph.content(path).holds(defines) for path in self.graph.family(Path(target.file or caller))
        )

    def _held(self, target: Target, caller: str) -> Iterator[Held]:
        """What the expression, or the name, of a target may hold."""
        if target.file:
            return self._values.of(Path(target.file), target.name)
        return self._by_name(target.name, Path(caller))

    def _key(self, target: Target, caller: str) -> tuple[Target, str]:
        return target, "" if target.file not in ("", caller) else caller

    def _called(self, held: Held, target: Target, caller: str) -> list[Target]:
        """The functions that run when what an expression holds is called as a target says."""
        definition, made = held.definition, held.made
        is_class = isinstance(definition.node, ast.ClassDef)
        if (is_class and not made) or (target.method and not (is_class and made)):
            return []
        itself = target.file == caller == str(definition.path) and target.name == f"{definition.node.name}()"
        if is_class and itself:  # it calls a method of its own that it does not have
            found = self._subclasses.overriding(definition, target.method or "forward")
            meant = (each for each in found if not (target.switch and is_false(each.node, target.switch)))
            return [Target(str(each.path), each.node.name, True, target.method) for each in meant]
        behind = self._values.of_property(definition, target.method) if target.method else None
        if behind is None:
            return [Target(str(definition.path), definition.node.name, made, target.method, given=held.given)]
        return [found for each in behind for found in self._called(each, target._replace(method=""), caller)]

    def _by_name(self, name: str, caller: Path) -> Iterator[Held]:
        """What callers give to parameters of this name in a file; else what the files that it is used with assign to it.

        Of a table, what its element under a key is given: `losses['main']`.
        """
        name, _, element = name.removesuffix("]").partition("[")
        element = element[1:-1]
        family = sorted(self.graph.family(caller), key=attrgetter("parts"))
        given = False
        for definition in self._taking(caller, name):
            word = definition.node.name.encode()
            for path in family:
                if self.graph.content(path).holds(word):
                    for each in self._values.handed_to(definition, name, path, element):
                        given = True
                        yield each
        assigning = [] if given else [path for path in family if self._assigns(path, name)]
        if self._is_made_by_libraries(name, [path for path in assigning if path in self.graph.users(caller)]):
            return
        for path in assigning if len(assigning) <= _MOST_ASSIGNING else ():
            yield from self._assigned(path, name, element)

    def _taking(self, path: Path, name: str) -> list[Definition]:
        """The functions and classes of a file that have a parameter of some name."""
        tops = self._values.definitions.top(path)
        return [Definition(path, each) for each in tops if takes(each, name)]

    def _is_made_by_libraries(self, name: str, users: list[Path]) -> bool:
        """Whether some files, which lead to code that uses a name, have libraries make all that they give it: then what other
        files call so is another thing."""
        return bool(users) and all(self._values.is_made_by_libraries(path, name) for path in users)

    def _assigns(self, path: Path, name: str) -> bool:
        content = self.graph.content(path)
        return content.holds(name.encode()) and content.matches(_giving(name))

    def _assigned(self, path: Path, name: str, element: str) -> list[Held]:
        key = path, name, element
        if key not in self._under:
            self._under[key] = list(self._values.under(path, name, element))
        return self._under[key]


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


@lru_cache(maxsize=256)
def _giving(name: str) -> re.Pattern[bytes]:
    """`criterion = `, `criterion, model = `, `criterion: Loss = ` and `"criterion":` for a name; it begins with the letters that
    `re` finds fastest."""
    word = re.escape(name)
    assigned = rf"(?<=\b{word})[ \t]*(?:=(?!=)|[,:][^\n=()]*=(?!=))"
    return re.compile(rf"{word}(?:{assigned}|(?<=['\"]{word})['\"][ \t]*:)".encode())
