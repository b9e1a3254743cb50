"""What the editor holds: texts and notebooks, as the bytes that it would save."""

from __future__ import annotations

import io
import json
import os
import re
import tempfile
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from lsprotocol import types
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument, Workspace

_UNSAVED = "untitled:"
"""How the address of a document begins that has no file yet."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class OpenPart(NamedTuple):
    """What the editor has an address for: a text, or a cell of a notebook."""

    uri: str
    version: int | None = None


@dataclass(frozen=True)
class OpenDocument:
    """A document at one moment: the address that the editor gives it, where it lies, and its bytes.

    `parts` are all cells of a notebook, in their order, or the text itself.
    """

    uri: str
    path: Path
    data: bytes
    parts: tuple[OpenPart, ...]
    is_notebook: bool = False


class OpenText(TextDocument):
    """A text whose lines end as in the protocol; `str.splitlines`, which pygls uses, also ends them at a form feed."""

    @property
    def lines(self) -> Sequence[str]:
        """Its lines, each with its end."""
        return tuple(split_lines(self.source))


class OpenDocuments(Workspace):
    """The texts, notebooks and folders that are open in the editor."""

    @classmethod
    def of(cls, workspace: Workspace) -> OpenDocuments:
        """The same folders, nothing open yet."""
        folders = list(workspace.folders.values())
        return cls(workspace.root_uri, workspace_folders=folders, position_encoding=workspace.position_encoding)

    def _create_text_document(
        self, doc_uri: str, source: str | None = None, version: int | None = None, language_id: str | None = None
    ) -> TextDocument:
        return OpenText(doc_uri, source, version, language_id, position_codec=self.position_codec)

    @property
    def roots(self) -> list[Path]:
        """The folders of the workspace, the innermost first."""
        uris = [folder.uri for folder in self.folders.values()] or [uri for uri in [self.root_uri] if uri]
        paths = [Path(path) for path in map(to_fs_path, uris) if path]
        return sorted(paths, key=lambda path: -len(path.parts))

    def uris(self) -> list[str]:
        """The addresses of all texts and notebooks; a cell stands under its notebook."""
        texts = [text.uri for uri, text in self.text_documents.items() if uri not in self._cell_in_notebook]
        return [*texts, *(notebook.uri for notebook in self.notebook_documents.values())]

    def owner(self, uri: str) -> str:
        """The address of the notebook that a cell belongs to; any other address is its own."""
        notebook = self.get_notebook_document(cell_uri=uri)
        return uri if notebook is None else notebook.uri

    def path_of(self, uri: str) -> Path | None:
        """Where a document lies; of one that was never saved, where it could: in the first folder. None for what lies in no file:
        the other half of a comparison, say."""
        path = to_fs_path(uri)
        if path:
            return Path(path)
        if not uri.startswith(_UNSAVED):
            return None
        name = unquote(uri.removeprefix(_UNSAVED).partition("?")[0]) or "untitled"
        folder = next(iter(self.folders.values()), None)
        root = (to_fs_path(folder.uri) if folder else None) or os.path.join(tempfile.gettempdir(), "untitled")
        return Path(root, name if Path(name).suffix else f"{name}.py")

    def snapshot(self, uri: str) -> OpenDocument | None:
        """A text or a notebook as it is now; None for what is not open, or lies nowhere."""
        path = self.path_of(uri)
        if path is None:
            return None
        notebook = self.get_notebook_document(notebook_uri=uri)
        if notebook is not None:
            data = json.dumps(self._written(notebook)).encode()
            cells = tuple(OpenPart(cell.document, self._version(cell.document)) for cell in notebook.cells)
            return OpenDocument(uri, path, data, cells, is_notebook=True)
        if unquote(uri) not in self.text_documents:
            return None
        text = self.get_text_document(uri)
        return OpenDocument(uri, path, encoded(text.source), (OpenPart(uri, text.version),))

    def texts(self) -> Iterator[OpenDocument]:
        """All texts that lie in files, as they are now."""
        found = (self.snapshot(uri) for uri in self.uris() if not uri.startswith(_UNSAVED))
        yield from (each for each in found if each is not None and not each.is_notebook)

    def _version(self, uri: str) -> int | None:
        return self.get_text_document(uri).version

    def _written(self, notebook: types.NotebookDocument) -> dict[str, Any]:
        """A notebook as the JSON document that would be saved, as far as it matters here."""
        cells = []
        for cell in notebook.cells:
            text = self.get_text_document(cell.document)
            kind = "code" if cell.kind is types.NotebookCellKind.Code else "markdown"
            metadata = {"vscode": {"languageId": text.language_id or "python"}}
            cells.append({"cell_type": kind, "metadata": metadata, "source": text.source})
        return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def split_lines(text: str) -> list[str]:
    """The lines of a text, each with its end."""
    return _LINE.findall(text)


def encoded(text: str) -> bytes:
    """A text as the bytes that an editor would save: in UTF-8, unless it names another encoding that has its characters."""
    data = text.encode(errors="replace")
    try:
        encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
        return data if encoding == "utf-8-sig" else text.encode(encoding)
    except (SyntaxError, LookupError, UnicodeError):
        return data
