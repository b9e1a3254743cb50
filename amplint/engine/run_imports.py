"""The imports between the files of a run, and what they say of a file: which training is its own, and which files have to do
with it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from amplint.facts.driving_facts import repetition, stated_at, stating
from amplint.python_ast import gate
from amplint.source import is_notebook

if TYPE_CHECKING:
    from amplint.callgraph.import_graph import ImportGraph
    from amplint.callgraph.repeated_calls import RepeatedCall
    from amplint.engine.discovery import FoundFile

_TRAINS = (b".backward(", b".step(")
"""What stands in a file that trains; a test of gradients has only the first."""
_PRINTS = re.compile(rb"^print\(", re.MULTILINE)


class RunImports:
    """Who imports whom; told from the bytes of all files when somebody first asks.

    Args:
        found: the files of a run.
        project: gives further files of their project.
    """

    def __init__(self, found: Sequence[FoundFile], project: Callable[[], Sequence[FoundFile]] = tuple) -> None:
        self._found = found
        self._project = project

    @cached_property
    def graph(self) -> ImportGraph:
        """The imports between the files of the run."""
        return _graph(self._found)

    @cached_property
    def _whole(self) -> ImportGraph:
        """The imports between all files of the project."""
        beside = self._project()
        return _graph([*self._found, *beside]) if beside else self.graph

    def trained_without_amp(self, path: Path) -> bool:
        """Whether a file is led to together with one that trains, and with none that speaks of AMP; or is a script that nothing
        leads to, and that prints what comes of it wherever it is read.

        Then how another part of the project trains says nothing about it: of fifty models in one repository, each with a
        training script of its own, some train in mixed precision.

        Args:
            path: the file.
        """
        contents = [self._whole.content(each) for each in self._whole.family(path)]
        trains = any(all(each.holds(word) for word in _TRAINS) for each in contents)
        is_script = len(contents) == 1 and _PRINTS.search(contents[0].data) is not None
        return (trains or is_script) and not any(gate.may_matter(each.data) for each in contents)

    def around(self, path: Path) -> Surroundings:
        """What the imports say of one file.

        Args:
            path: the file.
        """
        return Surroundings(self, path)

    @property
    def root(self) -> Path:
        """The folder that all files lie in, as far as their settings tell."""
        return Path(*_common([each.settings.root for each in self._found]))

    def repeated_call(self, path: Path, function: str, parameter: str) -> RepeatedCall | None:
        """The first call in a loop of another file that gives a function the same object each time.

        Args:
            path: the file of the function.
            function: its name.
            parameter: the parameter that gets the object.
        """
        from amplint.callgraph.repeated_calls import RepeatedCalls  # brings `ast`

        return RepeatedCalls(self._whole).with_the_same(path, function, parameter)

    def connected(self, path: Path) -> frozenset[Path]:
        """The files that imports connect with a file, in either direction, over however many others.

        Args:
            path: the file.
        """
        return self._whole.connected(path)


class Surroundings:
    """Where one file stands among the others; told only when somebody asks.

    Args:
        imports: those between all files.
        path: the file.
    """

    def __init__(self, imports: RunImports, path: Path) -> None:
        self._imports, self._path = imports, path

    @property
    def is_trained_without_amp(self) -> bool:
        """Whether those that lead to the file train, and none of them speaks of AMP."""
        return self._imports.trained_without_amp(self._path)

    @cached_property
    def _connected(self) -> frozenset[str]:
        return frozenset(os.path.realpath(each) for each in self._imports.connected(self._path))

    def established(self, needs: Iterable[str], facts: Collection[str]) -> frozenset[str]:
        """Those of some needs that files establish which imports connect with the file, with the places where they do.

        Args:
            needs: what findings in the file need.
            facts: what the files of the run establish.
        """
        return frozenset(fact for need in needs for fact in self._established(need, facts))

    def _established(self, need: str, facts: Collection[str]) -> Iterator[str]:
        called = repetition(need)
        if called is None and any(str(place) in self._connected for place in stating(need, facts)):
            yield need
        call = self._imports.repeated_call(self._path, *called) if called is not None else None
        if call is not None:
            yield from (need, stated_at(need, f"{os.path.relpath(call.path, self._imports.root)}:{call.row}"))


def _graph(found: Sequence[FoundFile]) -> ImportGraph:
    from amplint.callgraph.import_graph import ImportGraph  # brings what only a look at many files needs

    files = [each for each in found if not is_notebook(each.display)]
    return ImportGraph((each.path for each in files), Path(*_common([each.settings.root for each in files])))


def _common(roots: Sequence[Path]) -> tuple[str, ...]:
    """The parts of the folder that all roots lie in."""
    first, *others = sorted({root.parts for root in roots})
    count = len(first)
    for parts in others:
        count = min(
            count, next((index for index, pair in enumerate(zip(first, parts)) if pair[0] != pair[1]), len(parts))
        )
    return first[:count]
