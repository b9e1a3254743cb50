"""Answers to what an editor asks about a document: its findings, what to do about them, why they matter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from lsprotocol import types

from amplint.server import actions, findings
from amplint.server.checks import Checked
from amplint.server.client_places import ClientPlaces
from amplint.server.documents import OpenDocuments
from amplint.server.live_checks import LiveChecks
from amplint.server.worker import Answer, Worker


class Answers:
    """Answers requests.

    Args:
        worker: runs what takes time.
        live: knows the report on each document.
        documents: gives what is open.
        client: gives what the editor can do.
    """

    def __init__(
        self,
        worker: Worker,
        live: LiveChecks,
        documents: Callable[[], OpenDocuments],
        client: Callable[[], types.ClientCapabilities],
    ) -> None:
        self._worker = worker
        self._live = live
        self._documents = documents
        self._client = client

    def places(self, checked: Checked) -> ClientPlaces:
        """Tells the editor where things are in a document."""
        workspace = self._client().workspace
        edits = workspace.workspace_edit if workspace else None
        versioned = bool(edits and edits.document_changes)
        return ClientPlaces(checked.snapshot, checked.source, self._documents().position_codec, versioned)

    async def diagnostics(self, params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
        """The findings in a text; those in notebooks are published, for editors do not ask for them."""
        uri = params.text_document.uri
        own = self._documents().owner(uri) == uri
        checked = await self._live.settled(uri) if own else None
        shown = findings.by_address(checked, self.places(checked)).get(uri, []) if checked is not None else []
        return types.RelatedFullDocumentDiagnosticReport(shown)

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """The pages of the rules that found something at a place."""
        uri, where = params.text_document.uri, types.Range(params.position, params.position)
        checked = await self._live.settled(self._documents().owner(uri))
        found = [] if checked is None else findings.at(checked, self.places(checked), uri, where)
        if not found:
            return None
        text = await self._do(lambda: findings.pages(found))
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text))

    async def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """What can be done about the findings at a place."""
        checked = await self._live.settled(self._documents().owner(params.text_document.uri))
        if checked is None:
            return []
        places = self.places(checked)
        return await self._do(lambda: actions.offered(checked, places, params))

    async def resolved(self, action: types.CodeAction) -> types.CodeAction:
        """The action that applies all safe fixes, with its edit."""
        if action.edit is None and isinstance(action.data, str):
            action.edit, _ = await self.fixes(action.data)
        return action

    async def fixes(self, uri: str) -> tuple[types.WorkspaceEdit | None, str]:
        """The edit that applies all safe fixes to a document, and why some were left out; None where nothing is to be fixed."""
        checked = await self._live.current(self._documents().owner(uri))
        if checked is None:
            return None, ""
        outcome = await self._do(checked.fixed_safely)
        return self.places(checked).edit(outcome.text) if outcome.applied else None, outcome.error

    async def _do(self, call: Callable[[], Answer]) -> Answer:
        return await asyncio.wrap_future(self._worker.submit(call))
