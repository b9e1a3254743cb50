"""Which functions the contexts that callers give are for: names are followed to definitions, objects to their classes.

Where only the name of an object is known (a parameter, say), it is taken for what the project makes under this name, as
long as some file leads to both: a call graph by names of fields (Feldthaus et al., ICSE 2013).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from amplint.callgraph.import_graph import ImportGraph
from amplint.callgraph.makers import Definition, Makers
from amplint.model.caller_contexts import CallerContext, Target, distinct

_MOST_CLASSES = 4
"""A name that objects of more classes have in a project says nothing."""


class Links:
    """Finds the functions that contexts are for.

    Args:
        files: the files of the project.
        root: its folder.

    Attributes:
        graph: the imports between the files.
    """

    def __init__(self, files: Iterable[Path], root: Path) -> None:
        self.graph = ImportGraph(files, root)
        self._makers = Makers(self.graph)
        self._resolved: dict[tuple[Target, str], tuple[Target, ...]] = {}
        self._named: dict[str, list[tuple[Path, str]]] = {}
        self._searched: set[tuple[Path, str]] = set()

    def by_file(self, contexts: Iterable[CallerContext]) -> dict[str, tuple[CallerContext, ...]]:
        """The contexts of the functions of each file, by its path, with the targets as that file defines them."""
        found: dict[str, list[CallerContext]] = {}
        waiting = list(contexts)
        self._look_for({(each.target.name, each.caller) for each in waiting if not each.target.file})
        for context in waiting:
            for target in self._targets(context.target, context.caller):
                found.setdefault(target.file, []).append(context._replace(target=target))
        return {path: distinct(each) for path, each in found.items()}

    def _targets(self, target: Target, caller: str) -> tuple[Target, ...]:
        key = target, "" if target.file else caller
        if key not in self._resolved:
            self._resolved[key] = tuple(dict.fromkeys(self._resolve(target, Path(caller))))
        return self._resolved[key]

    def _resolve(self, target: Target, caller: Path) -> Iterator[Target]:
        if not target.file:
            yield from self._by_name(target, caller)
        elif target.made:
            yield from (_of(each, target) for each in self._makers.classes(Path(target.file), target.name))
        else:
            found = self._makers.definition(Path(target.file), target.name)
            if found is not None:
                yield _of(found, target)

    def _by_name(self, target: Target, caller: Path) -> Iterator[Target]:
        classes: dict[tuple[Path, str], Definition] = {}
        for path, maker in self._named.get(target.name, ()):
            if path in self.graph.family(caller):
                for found in self._makers.classes(path, maker, target.name):
                    classes[found.path, found.node.name] = found
        if len(classes) <= _MOST_CLASSES:
            yield from (_of(each, target) for each in classes.values())

    def _look_for(self, asked: set[tuple[str, str]]) -> None:
        """Find what files assign to names, or hand over under them, that may come to the callers which ask for these names."""
        new: dict[Path, set[str]] = {}
        for name, caller in sorted(asked):
            for path in self.graph.family(Path(caller)):
                if (path, name) not in self._searched:
                    new.setdefault(path, set()).add(name)
        for path, names in new.items():
            self._searched |= {(path, name) for name in names}
            data = self.graph.data(path)
            for name in (name for name in names if name.encode() in data):
                makers = [found[1].decode() for found in _making(name).finditer(data)]
                self._named.setdefault(name, []).extend((path, maker) for maker in makers)


@lru_cache(maxsize=256)
def _making(name: str) -> re.Pattern[bytes]:
    """`criterion = X(`, `criterion=X(` and `"criterion": X(` for a name; it begins with the letters that `re` finds fastest."""
    word = re.escape(name)
    key = rf"(?<=['\"]{word})['\"][ \t]*:"
    return re.compile(rf"{word}(?:(?<=\b{word})[ \t]*=|{key})[ \t]*([A-Za-z_]\w*)\(".encode())


def _of(found: Definition, target: Target) -> Target:
    return Target(str(found.path), found.node.name, target.made, target.method)
