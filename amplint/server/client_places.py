"""Places in a file as the editor counts them: lines from 0, columns in its units, mostly those of UTF-16, cells by address."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from lsprotocol import types
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec

from amplint.diagnostics import Position, Range
from amplint.server.documents import OpenDocument, OpenPart, split_lines
from amplint.source import Source
from amplint.system.reading import read_file
from amplint.system.text_encoding import SourceError


class ClientPlaces:
    """Tells the editor where something is, in a document or in another file.

    Args:
        snapshot: the document.
        source: the same as amplint reads it; None where it cannot.
        codec: knows the units that the editor counts in.
        versioned: whether the editor knows edits of a certain version of a document.
    """

    def __init__(self, snapshot: OpenDocument, source: Source | None, codec: PositionCodec, versioned: bool) -> None:
        self._snapshot = snapshot
        self._source = source
        self._codec = codec
        self._versioned = versioned
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
            uri = self._part(place.start.cell).uri
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

    def _part(self, number: int) -> OpenPart:
        """A cell by its number, counted from 1; the text itself for 0."""
        return self._snapshot.parts[min(max(number, 1), len(self._snapshot.parts)) - 1]

    def edit(self, text: str) -> types.WorkspaceEdit:
        """What turns the document into another text, line by line; an editor that can refuses it for a later version."""
        changed = [(part, list(self._changes(old, new))) for part, old, new in self._texts(text) if old != new]
        if not self._versioned:
            return types.WorkspaceEdit(changes={part.uri: edits for part, edits in changed})
        return types.WorkspaceEdit(
            document_changes=[
                types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(part.uri, part.version), edits)
                for part, edits in changed
            ]
        )

    def _texts(self, text: str) -> Iterator[tuple[OpenPart, str, str]]:
        """The parts of the document, each as it is and as it is to be."""
        assert self._source is not None
        notebook = self._source.notebook
        if notebook is None:
            yield self._part(0), self._source.text, text
            return
        for number, old, new in zip(notebook.numbers, notebook.written(self._source.text), notebook.written(text)):
            yield self._part(number), old, new

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
