"""The server as an editor meets it: a real client talks to `amplint server` over standard streams."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("pytest_lsp") is None or importlib.util.find_spec("pygls") is None:
    pytest.skip("pytest-lsp is not installed", allow_module_level=True)

import misbehaving_pack
from editor import CLIP, Editor, applied, editing
from lsprotocol import types
from program import amplint

Scene = Callable[..., Coroutine[Any, Any, None]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "amplint.toml").write_text("")
    (folder / "train.py").write_text(CLIP)
    return folder


def play(scene: Coroutine[Any, Any, None]) -> None:
    """Run a scene to its end."""
    asyncio.run(asyncio.wait_for(scene, 120))


def test_a_finding_and_what_becomes_of_it(project: Path) -> None:
    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(project / "train.py")
            (found,) = await editor.codes_are(uri, "AMP101")
            assert (found.range.start.line, found.range.start.character) == (11, 8)
            assert found.severity == types.DiagnosticSeverity.Error and found.source == "amplint"
            assert found.code_description is not None and "amp101" in found.code_description.href
            assert found.message.startswith("Gradients are clipped before `scaler` unscales them\n")
            (related,) = found.related_information or ()
            assert related.message == "scaled here" and related.location.uri == uri
            assert related.location.range.start.line == 10
            editor.type(uri, CLIP.replace("        clip_grad", "        scaler.unscale_(optimizer)\n        clip_grad"))
            await editor.codes_are(uri)
            editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    play(scene())


def test_the_buffer_counts_not_the_file(project: Path) -> None:
    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(project / "train.py", "x = 1\n")
            await editor.codes_are(uri)
            new = editor.open(project / "new.py", CLIP)  # there is no such file yet
            await editor.codes_are(new, "AMP101")

    play(scene())


def test_fixes_and_comments_are_offered(project: Path) -> None:
    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(project / "train.py")
            fix, ignore, every = await editor.actions(uri, 12)
            assert fix.title == "Add `scaler.unscale_(optimizer)` before the clip (AMP101)" and fix.is_preferred
            fixed = CLIP.replace("        clip_grad", "        scaler.unscale_(optimizer)\n        clip_grad")
            assert applied(CLIP, edits(fix, uri)) == fixed
            assert ignore.title == "Ignore AMP101 here" and not ignore.is_preferred
            text = applied(CLIP, edits(ignore, uri))
            assert "max_norm=1.0)  # amplint: ignore[clip-before-unscale]\n" in text
            editor.type(uri, text)
            await editor.codes_are(uri)
            assert every.kind == "source.fixAll.amplint" and every.edit is None
            assert await editor.actions(uri, 3, "quickfix") == []
            editor.type(uri, CLIP, 3)
            (found,) = await editor.codes_are(uri, "AMP101")
            # Some editors name the findings of the row, wherever in it the cursor is.
            context = types.CodeActionContext([found], only=["quickfix"])
            start = types.Range(types.Position(11, 0), types.Position(11, 0))
            asked = types.CodeActionParams(types.TextDocumentIdentifier(uri), start, context)
            assert len(await editor.text_document_code_action_async(asked) or ()) == 2

    play(scene())


def edits(action: types.CodeAction, uri: str) -> list[types.TextEdit]:
    """The edits of an action in one document, of which the editor is told the version."""
    assert action.edit is not None
    return edits_of(action.edit, uri)


def edits_of(whole: types.WorkspaceEdit, uri: str) -> list[types.TextEdit]:
    found = [each for each in whole.document_changes or () if isinstance(each, types.TextDocumentEdit)]
    (edit,) = (each for each in found if each.text_document.uri == uri)
    assert edit.text_document.version is not None
    return [each for each in edit.edits if isinstance(each, types.TextEdit)]


def test_all_safe_fixes_at_once(project: Path) -> None:
    twice = CLIP + CLIP.partition("clip_grad_norm_\n")[2].replace("def train", "def again")

    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(project / "train.py", twice)
            (every,) = await editor.actions(uri, 1, "source.fixAll")
            every = await editor.code_action_resolve_async(every)
            text = applied(twice, edits(every, uri))
            assert text.count("unscale_") == 2
            editor.type(uri, text)
            await editor.codes_are(uri)
            assert await editor.actions(uri, 1, "source.fixAll.amplint") == []

    play(scene())


def test_the_command_that_fixes(project: Path) -> None:
    async def scene() -> None:
        async with editing(project) as editor:
            asked: list[types.ApplyWorkspaceEditParams] = []

            def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
                asked.append(params)
                return types.ApplyWorkspaceEditResult(True)

            editor.feature(types.WORKSPACE_APPLY_EDIT)(apply)
            uri = editor.open(project / "train.py")
            await editor.workspace_execute_command_async(types.ExecuteCommandParams("amplint.applyFixes", [uri]))
            (edit,) = asked
            assert "unscale_" in applied(CLIP, edits_of(edit.edit, uri))

    play(scene())


def test_unsafe_fixes_say_so_and_are_left_out_of_all(project: Path) -> None:
    text = CLIP.replace("        clip_grad", "        scaler.unscale_(optimizer)\n        clip_grad")
    text = text.replace("max_norm=1.0)", "max_norm=1.0, error_if_nonfinite=True)")

    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(project / "train.py", text)
            fix, _ = await editor.actions(uri, 13)
            assert fix.title.endswith(" (AMP121, unsafe)") and not fix.is_preferred

    play(scene())


def test_hover_shows_the_page(project: Path) -> None:
    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(project / "train.py")
            document = types.TextDocumentIdentifier(uri)
            hover = await editor.text_document_hover_async(types.HoverParams(document, types.Position(11, 10)))
            assert hover is not None and isinstance(hover.contents, types.MarkupContent)
            assert hover.contents.value.startswith("# AMP101 clip-before-unscale\n")
            assert "## Why it matters" in hover.contents.value
            nothing = await editor.text_document_hover_async(types.HoverParams(document, types.Position(1, 1)))
            assert nothing is None

    play(scene())


def test_columns_count_what_the_editor_counts(project: Path) -> None:
    text = CLIP.replace("        clip_grad", "        '\U0001f600é'; clip_grad").replace(
        "import torch\n", "import torch\n\x0c\n", 1
    )

    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(project / "train.py", "")
            editor.type(uri, text)
            (found,) = await editor.codes_are(uri, "AMP101")
            assert (found.range.start.line, found.range.start.character) == (12, 8 + len("'..é'; "))
            line = text.split("\n")[12].encode("utf-16-le")
            start, end = (2 * each.character for each in (found.range.start, found.range.end))
            assert line[start:end].decode("utf-16-le") == "clip_grad_norm_"
            # A change behind a form feed and wide characters: `clip_grad_norm_` loses its last letter.
            last = types.Range(types.Position(12, found.range.end.character - 1), found.range.end)
            editor.type(uri, "", 3, last)
            await editor.codes_are(uri)
            editor.type(uri, "_", 4, types.Range(last.start, last.start))
            await editor.codes_are(uri, "AMP101")

    play(scene())


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_line_ends_stay(project: Path, newline: str) -> None:
    text = CLIP.replace("\n", newline)

    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(project / "train.py", text)
            fix, *_ = await editor.actions(uri, 12)
            (edit,) = edits(fix, uri)
            assert edit.new_text == f"        scaler.unscale_(optimizer){newline}"

    play(scene())


def test_half_typed_code_is_no_reason_to_die(project: Path) -> None:
    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(project / "train.py")
            await editor.codes_are(uri, "AMP101")
            for version, length in enumerate(range(len(CLIP), 0, -41), 2):
                editor.type(uri, CLIP[:length], version)
                await editor.actions(uri, 12)
            for version, text in enumerate(
                ("scaler = GradScaler(\0", "\udcff autocast(", "# coding: nonsense\nautocast"), 1000
            ):
                editor.type(uri, text, version)
                await editor.actions(uri, 1)
            editor.type(uri, "def f(:\n    autocast\n", 2000)
            await editor.codes_are(uri, "AMP900")
            editor.type(uri, CLIP, 2001)
            await editor.codes_are(uri, "AMP101")

    play(scene())


def test_what_another_buffer_says_counts(project: Path) -> None:
    unscales = "def settle(scaler, optimizer):\n    scaler.unscale_(optimizer)\n"
    looks = "def settle(scaler, optimizer):\n    print(scaler.get_scale(), optimizer.param_groups)\n"
    (project / "helpers.py").write_text(unscales)
    text = CLIP.replace("import torch\n", "import torch\nfrom helpers import settle\n", 1)
    text = text.replace("        clip_grad", "        settle(scaler, optimizer)\n        clip_grad")

    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(project / "train.py", text)
            await editor.codes_are(uri)
            helpers = editor.open(project / "helpers.py")
            await editor.codes_are(helpers)
            editor.type(helpers, looks)
            await editor.codes_are(uri, "AMP101")
            closed = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(helpers))
            editor.text_document_did_close(closed)  # without saving: the file counts again
            await editor.codes_are(uri)

    play(scene())


def cell(folder: Path, number: int) -> str:
    return f"vscode-notebook-cell:{folder.as_posix()}/train.ipynb#c{number}"


def test_a_text_that_was_never_saved(project: Path) -> None:
    helper = "import torch\n\ndef clip(model):\n    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
    (project / "helper.py").write_text(helper)
    text = CLIP.replace("from torch.nn.utils", "from helper").replace("clip_grad_norm_", "clip")
    text = text.replace("clip(model.parameters(), max_norm=1.0)", "clip(model)")

    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open_as("untitled:Untitled-1", text)
            await editor.codes_are(uri, "AMP101")
            (fix, *_) = await editor.actions(uri, 12)
            assert fix.edit is not None and fix.edit.document_changes is not None
            editor.type(uri, "x = 1\n")
            await editor.codes_are(uri)
            # What a comparison shows is no text that anybody edits, and a name that is taken stays that of the file.
            old = editor.open_as("git:/train.py?%7B%22ref%22%3A%22HEAD%22%7D", CLIP)
            editor.open_as("untitled:helper.py", "")
            await editor.codes_are(editor.open(project / "train.py", text), "AMP101")
            assert editor.codes(old) is None

    play(scene())


def test_a_text_that_was_never_saved_where_no_folder_is_open(project: Path) -> None:
    async def scene() -> None:
        async with editing(project) as editor:
            gone = types.WorkspaceFoldersChangeEvent([], [types.WorkspaceFolder(project.as_uri(), project.name)])
            editor.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(gone))
            await editor.codes_are(editor.open_as("untitled:Untitled-1", CLIP), "AMP101")

    play(scene())


def test_notebooks(project: Path) -> None:
    head, _, tail = CLIP.partition("\n\n\n")
    texts = ["%matplotlib inline\n" + head, tail]

    async def scene() -> None:
        async with editing(project) as editor:
            uris = [cell(project, number) for number in range(2)]
            items = [types.TextDocumentItem(uri, "python", 1, text) for uri, text in zip(uris, texts)]
            cells = [types.NotebookCell(types.NotebookCellKind.Code, uri) for uri in uris]
            notebook = types.NotebookDocument((project / "train.ipynb").as_uri(), "jupyter-notebook", 1, cells)
            editor.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, items))
            await editor.codes_are(uris[0])
            (found,) = await editor.codes_are(uris[1], "AMP101")
            assert found.range.start.line == tail[: tail.index("clip_grad")].count("\n")
            (related,) = found.related_information or ()
            assert related.location.uri == uris[1]
            fix, ignore, every = await editor.actions(uris[1], found.range.start.line + 1)
            assert "unscale_" in applied(tail, edits(fix, uris[1])) and ignore.edit is not None
            every = await editor.code_action_resolve_async(every)
            fixed = applied(tail, edits(every, uris[1]))
            assert "unscale_" in fixed
            change = types.NotebookDocumentCellContentChanges(
                types.VersionedTextDocumentIdentifier(2, uris[1]),
                [types.TextDocumentContentChangeWholeDocument(fixed)],
            )
            editor.notebook_document_did_change(
                types.DidChangeNotebookDocumentParams(
                    types.VersionedNotebookDocumentIdentifier(2, notebook.uri),
                    types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[change])),
                )
            )
            await editor.codes_are(uris[1])
            closed = types.DidCloseNotebookDocumentParams(
                types.NotebookDocumentIdentifier(notebook.uri), [types.TextDocumentIdentifier(uri) for uri in uris]
            )
            editor.notebook_document_did_close(closed)

    play(scene())


def test_a_line_for_ipython_takes_no_comment(project: Path) -> None:
    text = CLIP.replace("        clip_grad", "        %time clip_grad")

    async def scene() -> None:
        async with editing(project) as editor:
            uri = cell(project, 0)
            notebook = types.NotebookDocument(
                (project / "train.ipynb").as_uri(),
                "jupyter-notebook",
                1,
                [types.NotebookCell(types.NotebookCellKind.Code, uri)],
            )
            item = types.TextDocumentItem(uri, "python", 1, text)
            editor.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, [item]))
            await editor.codes_are(uri, "AMP101")
            assert await editor.actions(uri, 12) == []
            hover = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(11, 20))
            assert await editor.text_document_hover_async(hover) is not None

    play(scene())


def test_two_roots_have_their_own_settings(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "amplint.toml").write_text('ignore = ["AMP101"]\n')
    (other / "train.py").write_text(CLIP)

    async def scene() -> None:
        async with editing(project, other) as editor:
            first, second = (editor.open(folder / "train.py") for folder in (project, other))
            await editor.codes_are(first, "AMP101")
            await editor.codes_are(second)

    play(scene())


def test_folders_come_and_go(project: Path, tmp_path: Path) -> None:
    (tmp_path / "amplint.toml").write_text('ignore = ["AMP101"]\n')
    inner = project / "inner"
    inner.mkdir()
    (inner / "train.py").write_text(CLIP)

    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(inner / "train.py")
            new = editor.open(project / "not" / "yet" / "there.py", CLIP)
            await editor.codes_are(uri, "AMP101")
            await editor.codes_are(new, "AMP101")
            (project / "amplint.toml").unlink()
            there, gone = (types.WorkspaceFolder(each.as_uri(), each.name) for each in (inner, project))
            event = types.WorkspaceFoldersChangeEvent([there], [gone])
            editor.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
            await editor.codes_are(uri)

    play(scene())


def test_a_rule_that_crashes_is_told_and_the_server_lives(project: Path, tmp_path: Path) -> None:
    site = misbehaving_pack.install(tmp_path / "site")

    async def scene() -> None:
        async with editing(project, site=site) as editor:
            uri = editor.open(project / "train.py", "crashes_here\nflags_here\n")
            told, found = await editor.codes_are(uri, "None", "BAD006")
            assert told.message.startswith("Not checked: rule BAD001 crashed at misbehaving_rules")
            assert found.range.start.line == 1
            assert any("rule BAD001 crashed" in each.message for each in editor.log_messages)
            editor.type(uri, "flags_here\n")
            await editor.codes_are(uri, "BAD006")

    play(scene())


def test_a_rule_that_never_ends_is_interrupted(project: Path, tmp_path: Path) -> None:
    site = misbehaving_pack.install(tmp_path / "site")
    impatient = tmp_path / "impatient.py"
    impatient.write_text(
        "from amplint.__main__ import main\nfrom amplint.system import limits\n\nlimits.SECONDS = 0.5\nmain()\n"
    )

    async def scene() -> None:
        async with editing(project, site=site, program=[sys.executable, str(impatient)]) as editor:
            uri = editor.open(project / "train.py", "spins_here\n")
            (told,) = await editor.codes_are(uri, "None")
            assert told.message == "Not checked: took more than 0.5 s"
            editor.type(uri, "flags_here\n")
            await editor.codes_are(uri, "BAD006")

    play(scene())


def saved(path: Path, text: str, editor: Editor) -> None:
    """A file is written on the disk, and the editor, which watches it, says so."""
    path.write_text(text)
    event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))


def test_a_check_of_what_has_changed_ends_early(project: Path, tmp_path: Path) -> None:
    site = misbehaving_pack.install(tmp_path / "site")

    async def scene() -> None:
        async with editing(project, site=site) as editor:
            uri = editor.open(project / "train.py", "naps_here\nnotes_here\n")
            await editor.until((project / "napping").exists)
            asked = asyncio.ensure_future(editor.actions(uri, 1))
            editor.type(uri, "flags_here\n")
            await editor.codes_are(uri, "BAD006")
            assert not (project / "noted").exists()
            assert [action.title for action in await asked] == ["Ignore BAD006 here"]
            editor.type(uri, "notes_here\n", 3)
            await editor.codes_are(uri)
            assert (project / "noted").exists()

    play(scene())


def test_settings_files_are_watched(project: Path) -> None:
    async def scene() -> None:
        async with editing(project) as editor:
            uri = editor.open(project / "train.py")
            await editor.codes_are(uri, "AMP101")
            (registration,) = editor.registered
            assert registration.method == types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            saved(project / "amplint.toml", 'ignore = ["AMP101"]\n', editor)
            await editor.codes_are(uri)
            saved(project / "amplint.toml", "ignroe = []\n", editor)
            await editor.until(lambda: bool(editor.messages))
            assert editor.messages[0].message.startswith("amplint: amplint.toml")
            assert "unknown key `ignroe`; did you mean `ignore`?" in editor.messages[0].message
            saved(project / "amplint.toml", "", editor)
            await editor.codes_are(uri, "AMP101")

    play(scene())


def test_what_the_baseline_knows_is_not_shown(project: Path) -> None:
    (project / "amplint.toml").write_text('baseline = "amplint-baseline.json"\n')
    assert amplint("--update-baseline", cwd=project).returncode == 0

    async def scene() -> None:
        async with editing(project) as editor:
            twice = CLIP + CLIP.partition("clip_grad_norm_\n")[2].replace("def train", "def again")
            uri = editor.open(project / "train.py", "\n" + CLIP)
            await editor.codes_are(uri)
            editor.type(uri, twice)
            (found,) = await editor.codes_are(uri, "AMP101")
            assert found.range.start.line > 12
            saved(project / "amplint-baseline.json", "{", editor)
            await editor.until(lambda: bool(editor.messages))
            assert "amplint-baseline.json: is no JSON" in editor.messages[0].message

    play(scene())


def test_options_of_the_command_line_and_of_the_editor(project: Path) -> None:
    async def scene() -> None:
        options = {"args": ["--ignore", "AMP101"]}
        async with editing(project, arguments=["--extend-select", "AMP309"], options=options) as editor:
            uri = editor.open(project / "train.py")
            await editor.codes_are(uri)
            settings = types.DidChangeConfigurationParams({"amplint": {"args": []}})
            editor.workspace_did_change_configuration(settings)
            await editor.codes_are(uri, "AMP101")
            editor.set_configuration({"amplint": {"args": ["--select", "AMP2"]}})
            editor.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
            await editor.codes_are(uri)
            editor.workspace_did_change_configuration(
                types.DidChangeConfigurationParams({"amplint": {"args": ["--slect", "AMP1"]}})
            )
            await editor.until(lambda: bool(editor.messages))
            assert editor.messages[0].message.startswith("amplint: settings of the editor: No such option")

    play(scene())


def test_findings_on_demand(project: Path) -> None:
    async def scene() -> None:
        async with editing(project, pulls=True) as editor:
            uri = editor.open(project / "train.py")
            asked = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
            report = await editor.text_document_diagnostic_async(asked)
            assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
            assert [each.code for each in report.items] == ["AMP101"]
            assert uri not in editor.diagnostics  # they would be there twice
            saved(project / "amplint.toml", "select = 3\n", editor)
            await editor.until(lambda: editor.diagnostic_refresh_count > 0)
            report = await editor.text_document_diagnostic_async(asked)
            assert isinstance(report, types.RelatedFullDocumentDiagnosticReport) and not report.items
            assert "`select` must be a list of strings" in editor.messages[0].message

    play(scene())


def test_installed_packages_are_left_alone(project: Path) -> None:
    folder = project / ".venv" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "library.py").write_text(CLIP)

    async def scene() -> None:
        async with editing(project) as editor:
            await editor.codes_are(editor.open(folder / "library.py"))

    play(scene())


def test_the_session_ends_as_the_protocol_wants(project: Path) -> None:
    async def scene() -> None:
        async with editing(project) as editor:
            editor.open(project / "train.py")
        assert editor._server is not None and editor._server.returncode == 0
        async with editing(project) as editor:
            assert editor._server is not None and editor._server.stdin is not None
            editor._server.stdin.close()  # the editor has crashed
            assert await editor._server.wait() == 1
            editor.capabilities = None

    play(scene())
