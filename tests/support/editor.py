"""An editor without a window: a client of the language server, and what tests do with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from program import AMPLINT, environment
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import register_lsp_features

_PATIENCE = 60.0
"""Seconds after which an answer is given up on."""

CLIP = """\
import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = model(x, y)
        scaler.scale(loss).backward()
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
"""
"""A loop with one finding, AMP101, in row 12, that has a safe fix."""


class Editor(LanguageClient):
    """A client that remembers what is published, and waits for it."""

    def __init__(self) -> None:
        super().__init__(converter_factory=default_converter)
        register_lsp_features(self)
        self.registered: list[types.Registration] = []
        self.feature(types.CLIENT_REGISTER_CAPABILITY)(partial(self._register))

    def _register(self, params: types.RegistrationParams) -> None:
        self.registered += params.registrations

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of what the server has told."""

        async def watch() -> None:
            while not holds():
                await asyncio.sleep(0.02)

        await asyncio.wait_for(watch(), _PATIENCE)

    def codes(self, uri: str) -> list[str] | None:
        """The codes that were published for a document last; None before anything was."""
        found = self.diagnostics.get(uri)
        return None if found is None else [str(each.code) for each in found]

    async def codes_are(self, uri: str, *codes: str) -> Sequence[types.Diagnostic]:
        """Wait until exactly these codes are published for a document."""
        await self.until(lambda: self.codes(uri) == list(codes))
        return self.diagnostics[uri]

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a file, with another text than it holds perhaps; returns its address."""
        return self.open_as(path.as_uri(), path.read_text("utf-8") if text is None else text)

    def open_as(self, uri: str, text: str) -> str:
        """Open a text at an address; returns the address."""
        item = types.TextDocumentItem(uri, "python", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def type(self, uri: str, text: str, version: int = 2, where: types.Range | None = None) -> None:
        """Replace a range of a text, or all of it."""
        change: Any = (
            types.TextDocumentContentChangeWholeDocument(text)
            if where is None
            else types.TextDocumentContentChangePartial(where, text)
        )
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        self.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))

    async def actions(self, uri: str, row: int, *kinds: str) -> list[types.CodeAction]:
        """What is offered in a row (counted from 1)."""
        where = types.Range(types.Position(row - 1, 0), types.Position(row - 1, 1000))
        context = types.CodeActionContext([], only=list(kinds) or None)
        asked = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        found = await self.text_document_code_action_async(asked)
        return [each for each in found or () if isinstance(each, types.CodeAction)]


def applied(text: str, edits: Sequence[types.TextEdit]) -> str:
    """A text after edits, whose places count units of UTF-16, as an editor applies them."""
    lines = text.splitlines(keepends=True)

    def offset(place: types.Position) -> int:
        before = sum(map(len, lines[: place.line]))
        line = lines[place.line] if place.line < len(lines) else ""
        return before + len(line.encode("utf-16-le")[: 2 * place.character].decode("utf-16-le"))

    for edit in sorted(edits, key=lambda each: (-each.range.start.line, -each.range.start.character)):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


@asynccontextmanager
async def editing(
    *roots: Path,
    pulls: bool = False,
    arguments: Sequence[str] = (),
    options: Any = None,
    site: Path | None = None,
    program: Sequence[str] = AMPLINT,
) -> AsyncIterator[Editor]:
    """A session on some folders, ended in an orderly way."""
    editor = Editor()
    command, *rest = program
    await editor.start_io(command, *rest, "server", *arguments, env=environment(site), cwd=roots[0])
    capabilities = client_capabilities("visual-studio-code")
    assert capabilities.text_document is not None
    capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities() if pulls else None
    assert capabilities.workspace is not None
    capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(refresh_support=pulls)
    folders = [types.WorkspaceFolder(root.as_uri(), root.name) for root in roots]
    asked = types.InitializeParams(
        capabilities, root_uri=roots[0].as_uri(), workspace_folders=folders, initialization_options=options
    )
    await editor.initialize_session(asked)
    yield editor
    await editor.shutdown_session()
    assert editor.error is None
