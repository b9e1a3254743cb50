"""What the objects are that files know only by a name: that of a parameter or of an attribute.

Such a name is taken for what the calls in sight give, and for what the project assigns to it, as long as some file leads to both:
a call graph by names of fields (Feldthaus et al., ICSE 2013).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path

from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Definition, Scope
from amplint.callgraph.handed_arguments import Argument
from amplint.callgraph.held_values import HeldValues
from amplint.callgraph.import_graph import ImportGraph
from amplint.callgraph.named_values import Held
from amplint.callgraph.parameters import is_assigned, kept_parameter, parameter_names, takes

_SETTING = re.compile(rb"(?:add_module|register_module|setattr)\(")
"""Where an attribute is given a value by its name as a text."""
_MOST_ASSIGNING = 60
"""A name that more files of a project give a value is a word of every day: `logger`, `group`, `kwargs`."""
_MOST_HANDED_ON = 3
"""Through so many functions an argument is followed that hand on what they are given."""


class NamedObjects:
    """Finds what may be meant by a name.

    Args:
        graph: the files of the project.
        values: what their expressions may hold.
    """

    def __init__(self, graph: ImportGraph, values: HeldValues) -> None:
        self._graph, self._values = graph, values
        self._under: dict[tuple[Path, str, str, frozenset[Scope]], list[Held]] = {}

    def under(self, name: str, caller: Path, method: str = "") -> Iterator[Held]:
        """What callers give to parameters of this name in a file, or to those that a class keeps as this attribute; else what the
        bases of classes that ask for such an attribute assign to it; else what the files that it is used with do.

        Of a table, what its element under a key is given: `losses['main']`.

        Args:
            name: the name.
            caller: the file that calls the object by it.
            method: the name of its method that is called; empty where it is called itself.
        """
        name, _, element = name.removesuffix("]").partition("[")
        called = ".".join(filter(None, ("self", name, method)))
        given = False
        for source in (self._handed, partial(self._kept, called=called), self._assigned_by_bases):
            for each in source(caller, name, element[1:-1]):
                given = True
                yield each
            if given:
                return
        yield from self._assigned_in_family(caller, name, element[1:-1], called)

    def is_handed(self, name: str, caller: Path) -> bool:
        """Whether calls in sight give something to a parameter of this name in a file, so that nothing is told by the name alone.

        Args:
            name: the name.
            caller: the file.
        """
        return "[" not in name and next(self._handed(caller, name, ""), None) is not None

    def _handed(self, caller: Path, name: str, element: str) -> Iterator[Held]:
        for definition in self._taking(caller, name):
            yield from self.given_to(definition, name, element)

    def _kept(self, caller: Path, name: str, element: str, called: str) -> Iterator[Held]:
        """What the constructor is given of the only class in a file that makes some call of its attribute."""
        owners = self._asking(caller, called)
        kept = kept_parameter(owners[0].node, name) if len(owners) == 1 else None
        if kept is None or kept.name == name:
            return
        for each in self.given_to(owners[0], kept.name, element):
            yield from self._values.made_by(each) if kept.is_called else (each,)

    def given_to(self, function: Definition, name: str, element: str = "") -> Iterator[Held]:
        """What the calls in sight give a function, or the constructor of a class; also what is handed on to them.

        Args:
            function: the function, or the class.
            name: the name of the parameter.
            element: the key of the element that is meant, where it is a table.
        """
        for path, argument, called in self.arguments(function, name):
            yield from self._values.of_argument(path, argument, called, element)

    def arguments(self, function: Definition, name: str, hops: int = 0) -> Iterator[tuple[Path, Argument, str]]:
        """The expressions that `given_to` is about: the file of each, and the name of the parameter that gets it first.

        Args:
            function: the function, or the class.
            name: the name of the parameter.
            hops: through how many functions it was handed on so far.
        """
        word = function.node.name.encode()
        for path in self._family(function.path):
            if not self._graph.content(path).holds(word):
                continue
            for argument in self._values.arguments(function, name, path):
                outer = self._handed_on(path, *argument) if hops < _MOST_HANDED_ON else None
                if outer is not None:
                    yield from self.arguments(*outer, hops + 1)
                else:
                    yield path, argument, name

    def _handed_on(self, path: Path, value: ast.expr, scope: Scope) -> tuple[Definition, str] | None:
        """The function whose parameter an argument is, and the name of that; None where it is anything else."""
        if scope is None or not (isinstance(value, ast.Name) and value.id in parameter_names(scope)):
            return None
        if is_assigned(scope, value.id):
            return None
        if scope in self._values.definitions.top(path):
            return Definition(path, scope), value.id
        owner = self._values.definitions.class_around(path, scope) if scope.name == "__init__" else None
        return (owner, value.id) if owner is not None else None

    def _assigned_by_bases(self, caller: Path, name: str, element: str) -> Iterator[Held]:
        lineages = (self._values.definitions.lineage(each) for each in self._asking(caller, f"self.{name}"))
        bases = {base.path for lineage in lineages for base in lineage[1:]} - {caller}
        for path in sorted(bases):
            yield from self._assigned(path, name, element) if self._assigns(path, name) else ()

    def _asking(self, path: Path, text: str) -> list[Definition]:
        """The classes of a file in which a text stands."""
        if not self._graph.content(path).holds(text.encode()):
            return []
        classes = (each for each in self._values.definitions.named_in(path, "") if isinstance(each.node, ast.ClassDef))
        lines = self._graph.data(path).decode("utf-8", "replace").splitlines()
        return [
            each for each in classes if any(text in line for line in lines[each.node.lineno : each.node.end_lineno])
        ]

    def _assigned_in_family(self, caller: Path, name: str, element: str, called: str) -> Iterator[Held]:
        assigning = [path for path in self._family(caller) if self._assigns(path, name)]
        if self._is_made_by_libraries(name, [path for path in assigning if path in self._graph.users(caller)]):
            return
        if len(assigning) > _MOST_ASSIGNING or self._is_handed_what_libraries_make(caller, name):
            return
        subclasses = self._values.subclasses
        apart = {
            each for owner in self._asking(caller, called) for each in subclasses.in_ways_of_their_own(owner, called)
        }
        for path in assigning:
            yield from self._assigned(path, name, element, frozenset(apart))

    def _is_handed_what_libraries_make(self, caller: Path, name: str) -> bool:
        """Whether the calls in sight give a parameter of this name, and nothing but what libraries make."""
        given = [
            (path, spelling_of(value).removeprefix("self."))
            for definition in self._taking(caller, name)
            for path in self._family(caller)
            if self._graph.content(path).holds(definition.node.name.encode())
            for value, _ in self._values.arguments(definition, name, path)
        ]
        return bool(given) and all(self._values.is_made_by_libraries(path, each) for path, each in given)

    def _family(self, caller: Path) -> list[Path]:
        return sorted(self._graph.family(caller), key=attrgetter("parts"))

    def _taking(self, path: Path, name: str) -> list[Definition]:
        """The functions and classes of a file that have a parameter of some name."""
        tops = self._values.definitions.top(path)
        return [Definition(path, each) for each in tops if takes(each, name)]

    def _is_made_by_libraries(self, name: str, users: list[Path]) -> bool:
        """Whether some files, which lead to code that uses a name, have libraries make all that they give it: then what other
        files call so is another thing."""
        return bool(users) and all(self._values.is_made_by_libraries(path, name) for path in users)

    def _assigns(self, path: Path, name: str) -> bool:
        content = self._graph.content(path)
        return content.holds(name.encode()) and (content.matches(_giving(name)) or content.matches(_SETTING))

    def _assigned(self, path: Path, name: str, element: str, apart_from: frozenset[Scope] = frozenset()) -> list[Held]:
        key = path, name, element, apart_from
        if key not in self._under:
            self._under[key] = list(self._values.under(*key))
        return self._under[key]


@lru_cache(maxsize=256)
def _giving(name: str) -> re.Pattern[bytes]:
    """`criterion = `, `criterion, model = `, `criterion: Loss = ` and `"criterion":` for a name; it begins with the letters that
    `re` finds fastest."""
    word = re.escape(name)
    assigned = rf"(?<=\b{word})[ \t]*(?:=(?!=)|[,:][^\n=()]*=(?!=))"
    return re.compile(rf"{word}(?:{assigned}|(?<=['\"]{word})['\"][ \t]*:)".encode())
