"""One session with an editor: what it tells is noted down, what it asks is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from amplint import __version__
from amplint.engine.config import ConfigError
from amplint.server import actions, findings
from amplint.server.answers import Answers
from amplint.server.checks import Checked, ProjectChecks, ResolverMaker
from amplint.server.documents import OpenDocuments
from amplint.server.live_checks import LiveChecks
from amplint.server.worker import Worker
from amplint.system.revisions import SETTINGS_FILES

_PYTHON = "*.py"
_SETTINGS = (*SETTINGS_FILES, "amplint-baseline.json")
_CELLS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells([types.NotebookCellLanguage("python")], notebook="jupyter-notebook")]
)
_ACTIONS = types.CodeActionOptions(list(actions.KINDS), resolve_provider=True)
_APPLY_FIXES = "amplint.applyFixes"
"""The command that applies all safe fixes to the document whose address it is given."""

ReadArguments = Callable[[Sequence[str]], ResolverMaker]
"""Reads options as on the command line; raises a ConfigError for those that are none."""


class Session:
    """Answers an editor.

    Args:
        read: reads the options that the editor gives besides those of the command line.
        worker: runs the checks.
    """

    def __init__(self, read: ReadArguments, worker: Worker) -> None:
        self.server = LanguageServer("amplint", __version__, notebook_document_sync=_CELLS)
        self.asked_to_end = False
        self._read = read
        self._worker = worker
        self._checks = ProjectChecks(read(()))
        self._live = LiveChecks(worker, self._checks, self._documents, self._tell_of, self._publish)
        self._answers = Answers(worker, self._live, self._documents, lambda: self.server.client_capabilities)
        self._told: set[str] = set()
        self._pulls = False
        self._watches = False
        self._register()

    def _documents(self) -> OpenDocuments:
        workspace = self.server.workspace
        assert isinstance(workspace, OpenDocuments), "nothing is asked before `initialize`"
        return workspace

    def _register(self) -> None:
        features: dict[str, tuple[Callable[..., Any], Any]] = {
            types.INITIALIZE: (self._initialize, None),
            types.INITIALIZED: (self._initialized, None),
            types.SHUTDOWN: (self._shutdown, None),
            types.TEXT_DOCUMENT_DID_OPEN: (self._opened, None),
            types.TEXT_DOCUMENT_DID_CHANGE: (self._changed, None),
            types.TEXT_DOCUMENT_DID_SAVE: (self._saved, None),
            types.TEXT_DOCUMENT_DID_CLOSE: (self._closed, None),
            types.NOTEBOOK_DOCUMENT_DID_OPEN: (self._notebook_changed, None),
            types.NOTEBOOK_DOCUMENT_DID_CHANGE: (self._notebook_changed, None),
            types.NOTEBOOK_DOCUMENT_DID_CLOSE: (self._notebook_closed, None),
            types.TEXT_DOCUMENT_CODE_ACTION: (self._answers.actions, _ACTIONS),
            types.CODE_ACTION_RESOLVE: (self._answers.resolved, None),
            types.TEXT_DOCUMENT_HOVER: (self._answers.hover, None),
            types.WORKSPACE_DID_CHANGE_CONFIGURATION: (self._configured, None),
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES: (self._files_changed, None),
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: (self._folders_changed, None),
        }
        for name, (handler, options) in features.items():
            self.server.feature(name, options)(partial(handler))  # a method takes no attributes, which pygls sets
        self.server.command(_APPLY_FIXES)(partial(self._apply_fixes))

    # -- from beginning to end ----------------------------------------------------------------------------------------

    def _initialize(self, params: types.InitializeParams) -> None:
        self.server.protocol._workspace = OpenDocuments.of(self.server.workspace)
        text = params.capabilities.text_document
        self._pulls = text is not None and text.diagnostic is not None
        if self._pulls:
            options = types.DiagnosticOptions(True, False, findings.SOURCE)
            self.server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)(partial(self._answers.diagnostics))
        self._configure(params.initialization_options)

    def _initialized(self, _: types.InitializedParams) -> None:
        workspace = self.server.client_capabilities.workspace
        watches = workspace.did_change_watched_files if workspace else None
        self._watches = bool(watches and watches.dynamic_registration)
        if self._watches:
            patterns = [types.FileSystemWatcher(f"**/{name}") for name in (_PYTHON, *_SETTINGS)]
            options = types.DidChangeWatchedFilesRegistrationOptions(patterns)
            registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self.server.client_register_capability(types.RegistrationParams([registration]))

    def _shutdown(self, _: None) -> None:
        self.asked_to_end = True

    # -- settings -----------------------------------------------------------------------------------------------------

    def _configured(self, params: types.DidChangeConfigurationParams) -> None:
        settings = params.settings
        own = settings.get("amplint", settings) if isinstance(settings, Mapping) else None
        if own is not None:
            self._configure(own)
            self._start_afresh()
            return
        asked = types.ConfigurationParams([types.ConfigurationItem(section="amplint")])
        self.server.workspace_configuration(asked, self._answered)

    def _answered(self, sections: Sequence[Any]) -> None:
        self._configure(sections[0] if sections else None)
        self._start_afresh()

    def _configure(self, section: Any) -> None:
        """Take on the options that the editor gives, as on the command line: `{"args": ["--select", "AMP1"]}`."""
        arguments = section.get("args") if isinstance(section, Mapping) else None
        if arguments is None:
            return
        try:
            if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
                raise ConfigError("`args` must be a list of strings")
            self._checks.resolver = self._read(arguments)
        except ConfigError as error:
            self._tell(f"settings of the editor: {error}")

    def _start_afresh(self) -> None:
        self._live.forget()
        self._told.clear()
        self._check_again(self._documents().uris())

    # -- documents ----------------------------------------------------------------------------------------------------

    def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        self._check_soon(params.text_document.uri)

    def _changed(self, params: types.DidChangeTextDocumentParams) -> None:
        self._check_soon(params.text_document.uri)

    def _check_soon(self, uri: str) -> None:
        self._live.changed(uri)
        if not self._pulls:
            self._live.soon(uri)
        self._outdate(to_fs_path(uri) or "")

    def _saved(self, params: types.DidSaveTextDocumentParams) -> None:
        """The text is known; where the editor does not tell of new files, this may be one."""
        if not self._watches:
            self._live.forget_files()

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        self._live.drop(uri)
        self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        self._outdate(to_fs_path(uri) or "")

    def _notebook_changed(
        self, params: types.DidOpenNotebookDocumentParams | types.DidChangeNotebookDocumentParams
    ) -> None:
        self._live.changed(params.notebook_document.uri)
        self._live.soon(params.notebook_document.uri)

    def _notebook_closed(self, params: types.DidCloseNotebookDocumentParams) -> None:
        self._live.drop(params.notebook_document.uri)
        for cell in params.cell_text_documents:
            self.server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(cell.uri, []))

    def _folders_changed(self, _: types.DidChangeWorkspaceFoldersParams) -> None:
        self._start_afresh()

    def _files_changed(self, params: types.DidChangeWatchedFilesParams) -> None:
        """Settings and files of the project have changed on the disk; of an open text only what the editor holds counts."""
        held = {str(each.path) for each in self._documents().texts()}
        paths = [Path(to_fs_path(change.uri) or "") for change in params.changes]
        if any(path.name in _SETTINGS for path in paths):
            self._start_afresh()
            return
        kinds = {change.type for change in params.changes}
        if kinds != {types.FileChangeType.Changed}:
            self._live.forget()
            self._check_again(self._documents().uris())
        for path in paths:
            if str(path) not in held:
                self._outdate(str(path))

    def _outdate(self, path: str) -> None:
        """A file has changed, or the text of it: what rests on it is checked again."""
        resting = self._live.resting_on(path)
        self._live.outdated(resting)
        self._check_again(resting)

    def _check_again(self, uris: Sequence[str]) -> None:
        if self._pulls and uris:
            workspace = self.server.client_capabilities.workspace
            if workspace and workspace.diagnostics and workspace.diagnostics.refresh_support:
                self.server.workspace_diagnostic_refresh(None)
            uris = [uri for uri in uris if self.server.workspace.get_notebook_document(notebook_uri=uri)]
        self._live.again(uris)

    # -- what the editor is told --------------------------------------------------------------------------------------

    def _tell_of(self, checked: Checked) -> None:
        if checked.fault:
            self._tell(checked.fault)
        if checked.report.error:
            self._log(f"{checked.report.path}: {checked.report.error}")

    def _publish(self, checked: Checked) -> None:
        versions = dict(checked.snapshot.parts)
        for uri, shown in findings.by_address(checked, self._answers.places(checked)).items():
            told = types.PublishDiagnosticsParams(uri, shown, versions.get(uri))
            self.server.text_document_publish_diagnostics(told)

    async def _apply_fixes(self, uri: str) -> None:
        edit, error = await self._answers.fixes(uri)
        if error:
            self._log(error)
        if edit is not None:
            await self.server.workspace_apply_edit_async(types.ApplyWorkspaceEditParams(edit, "amplint"))

    def _tell(self, message: str) -> None:
        """Show what keeps amplint from working, once."""
        if message not in self._told:
            self._told.add(message)
            self.server.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"amplint: {message}"))

    def _log(self, message: str) -> None:
        self.server.window_log_message(types.LogMessageParams(types.MessageType.Error, message))
