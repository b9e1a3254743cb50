"""Places in a file as the editor counts them: lines from 0, columns in its units, mostly those of UTF-16, cells by address."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from lsprotocol import types
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec

from amplint.diagnostics import Position, Range
from amplint.server.documents import Snapshot, split_lines
from amplint.source import Source, SourceError
from amplint.system.reading import read_file


class ClientPlaces:
    """Tells the editor where something is, in a document or in another file.

    Args:
        snapshot: the document.
        source: the same as amplint reads it; None where it cannot.
        codec: knows the units that the editor counts in.
    """

    def __init__(self, snapshot: Snapshot, source: Source | None, codec: PositionCodec) -> None:
        self._snapshot = snapshot
        self._source = source
        self._codec = codec
        self._others: dict[str, Source | None] = {}

    def location(self, place: Range, path: str = "") -> types.Location:
        """A range in the document, or in the file at `path`.

        Args:
            place: the range.
            path: another file; empty for the document itself.
        """
        other = path not in ("", str(self._snapshot.path))
        source = self._other(path) if other else self._source
        start, end = (self._position(each, source) for each in place)
        if other:
            uri = from_fs_path(path) or ""
        else:
            cells, cell = self._snapshot.cells, place.start.cell
            uri = cells[cell - 1] if cells and 0 < cell <= len(cells) else self._snapshot.uri
        return types.Location(uri, types.Range(start, end))

    def _position(self, place: Position, source: Source | None) -> types.Position:
        column = place.column - 1
        if source is not None and place.row <= len(source.line_starts):
            column = self._codec.client_num_units(source.written(place.row)[:column])
        return types.Position((place.cell_row or place.row) - 1, column)

    def _other(self, path: str) -> Source | None:
        if path not in self._others:
            try:
                self._others[path] = Source.from_bytes(path, read_file(path))
            except (OSError, SourceError):
                self._others[path] = None
        return self._others[path]

    def edit(self, text: str) -> types.WorkspaceEdit:
        """What turns the document into another text, line by line."""
        changes = {uri: list(self._changes(old, new)) for uri, old, new in self._parts(text) if old != new}
        return types.WorkspaceEdit(changes=changes)

    def _parts(self, text: str) -> Iterator[tuple[str, str, str]]:
        """The parts of the document that the editor knows by an address, each as it is and as it is to be."""
        assert self._source is not None
        notebook = self._source.notebook
        if notebook is None:
            yield self._snapshot.uri, self._source.text, text
            return
        for number, old, new in zip(notebook.numbers, notebook.written(self._source.text), notebook.written(text)):
            yield self._snapshot.cells[number - 1], old, new

    def _changes(self, old: str, new: str) -> Iterator[types.TextEdit]:
        before, after = split_lines(old), split_lines(new)
        for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, before, after, False).get_opcodes():
            if tag != "equal":
                where = types.Range(self._line(before, start), self._line(before, end))
                yield types.TextEdit(where, "".join(after[new_start:new_end]))

    def _line(self, lines: list[str], index: int) -> types.Position:
        """Where a line begins; behind the last one, where the text ends."""
        if index < len(lines) or not lines or lines[-1].endswith(("\n", "\r")):
            return types.Position(index, 0)
        return types.Position(index - 1, self._codec.client_num_units(lines[-1]))
