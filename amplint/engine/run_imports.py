"""The imports between the files of a run, and what they say of files that name no region themselves: which training is theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from amplint.python_ast import gate
from amplint.source import is_notebook

if TYPE_CHECKING:
    from amplint.callgraph.import_graph import ImportGraph
    from amplint.engine.discovery import FoundFile

_TRAINS = (b".backward(", b".step(")
"""What stands in a file that trains; a test of gradients has only the first."""


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
        """Whether a file is led to together with one that trains, and with none that speaks of AMP.

        Then how another part of the project trains says nothing about it: of fifty models in one repository, each with a
        training script of its own, some train in mixed precision.

        Args:
            path: the file.
        """
        contents = [self._whole.content(each) for each in self._whole.family(path)]
        trains = any(all(each.holds(word) for word in _TRAINS) for each in contents)
        return trains and not any(gate.may_matter(each.data) for each in contents)


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
