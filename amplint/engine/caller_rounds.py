"""Files are checked again as other files enter their functions, and with what functions of other files give back to them, until
no file gives another one anything new."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from amplint.diagnostics import FileReport
from amplint.engine.relevance import is_concerned
from amplint.model.caller_contexts import AskedObject, CallerContext, ResultElsewhere
from amplint.model.records import NamedTuple
from amplint.source import is_notebook
from amplint.system.reading import read_file

if TYPE_CHECKING:
    from amplint.callgraph.linking import Links
    from amplint.engine.discovery import FoundFile
    from amplint.engine.run_imports import RunImports
    from amplint.model.caller_contexts import FromElsewhere, ToOthers

_DEPTH = 6
"""So many files deep, regions and dtypes are followed."""
_ROUNDS = 2 * _DEPTH
"""So often what comes from other files may change: after the way down, results find their way up."""


class EnteredFile(NamedTuple):
    """A file that is to be checked as other files enter it: its position in the run, its content, and what they tell it."""

    position: int
    data: bytes
    contexts: tuple[FromElsewhere, ...]


class CallerRounds:
    """Tells which files of a run are to be checked again.

    Args:
        found: the files.
        imports: those between the files.
        text: the content of the first, where it does not come from the disk.
    """

    def __init__(self, found: Sequence[FoundFile], imports: RunImports, text: bytes | None = None) -> None:
        self._found = found
        self._imports = imports
        self._text = text
        self._positions = {str(each.path): position for position, each in enumerate(found)}
        self._given: dict[int, tuple[FromElsewhere, ...]] = {}
        self._seen: set[ToOthers] = set()
        self._entering: dict[str, tuple[CallerContext, ...]] = {}
        self._rounds = 0

    def due(self, reports: Sequence[FileReport]) -> list[EnteredFile]:
        """The files to be checked next; empty when nothing is new.

        Args:
            reports: what is known so far of all files, in any order.
        """
        given = {each for report in reports for each in report.gives}
        if given <= self._seen or self._rounds == _ROUNDS:
            return []
        self._seen |= given
        self._rounds += 1
        told = self._told(reports)
        due: list[EnteredFile] = []
        for path in sorted(told):
            position = self._positions.get(path)
            if position is None or self._given.get(position, ()) == told[path]:
                continue
            self._given[position] = told[path]
            item, data = self._found[position], self._content(position)
            asked = any(not isinstance(each, CallerContext) or each.asks for each in told[path])
            is_due = asked or self._concerned(item, data) or self._hands_on(item) or self._has_heirs(item, told[path])
            if not is_notebook(item.display) and is_due:
                due.append(EnteredFile(position, data, told[path]))
        return due

    def _told(self, reports: Sequence[FileReport]) -> dict[str, tuple[FromElsewhere, ...]]:
        """What the files are told, by path: how others enter them, and what those give back."""
        contexts = [each for each in self._seen if isinstance(each, CallerContext)]
        given = (each for report in reports for each in report.gives)
        results = {each.way: each.shapes for each in given if isinstance(each, ResultElsewhere)}
        if self._rounds <= _DEPTH:
            self._entering = self._links.by_file(contexts)
        back = self._links.results(contexts, results)
        objects = self._links.objects(each for each in self._seen if isinstance(each, AskedObject))
        told = self._entering, back, objects
        return {path: tuple(each for one in told for each in one.get(path, ())) for path in set().union(*told)}

    def _hands_on(self, item: FoundFile) -> bool:
        """Whether a file imports one that asks how it is entered, or a file that imports one. What the file of a package imports
        is taken to be imported from the package, which a registry of models is."""
        graph = self._links.graph
        near = graph.imported_through_packages(item.path)
        far = near.union(*map(graph.imported_through_packages, near))
        return any(self._concerned(item, graph.data(each)) for each in far)

    def _has_heirs(self, item: FoundFile, told: Sequence[FromElsewhere]) -> bool:
        """Whether a class that others enter has a subclass in a file that asks how it is entered: the methods of that may run."""
        entered = (each.target for each in told if isinstance(each, CallerContext))
        names = sorted({re.escape(target.name) for target in entered if target.made and target.name.isidentifier()})
        if not names:
            return False
        derived = re.compile(rf"^[ \t]*class\s+\w+\([^)]*\b({'|'.join(names)})\b".encode(), re.MULTILINE)
        graph = self._links.graph
        users = sorted(graph.users(item.path) - {item.path})
        heirs = (each for each in users if graph.content(each).matches(derived))
        return any(self._concerned(item, graph.data(each)) for each in heirs)

    def _concerned(self, item: FoundFile, data: bytes) -> bool:
        return is_concerned(data, item.settings, item.path)

    @cached_property
    def _links(self) -> Links:
        from amplint.callgraph.linking import Links  # brings `ast`

        return Links(self._imports.graph)

    def _content(self, position: int) -> bytes:
        if position == 0 and self._text is not None:
            return self._text
        try:
            return read_file(self._found[position].path)
        except OSError:
            return b""
