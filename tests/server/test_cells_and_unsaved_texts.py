"""Texts in an editor that are no file as it lies there: cells of notebooks, and what was never saved."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

if importlib.util.find_spec("pytest_lsp") is None or importlib.util.find_spec("pygls") is None:
    pytest.skip("pytest-lsp is not installed", allow_module_level=True)

from editor import CLIP, applied, editing, edits, play, project_with_a_finding
from lsprotocol import types


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return project_with_a_finding(tmp_path)


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
