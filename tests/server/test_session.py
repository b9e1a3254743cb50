"""The server as an editor meets it: a real client talks to `amplint server` over standard streams."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

if importlib.util.find_spec("pytest_lsp") is None or importlib.util.find_spec("pygls") is None:
    pytest.skip("pytest-lsp is not installed", allow_module_level=True)

from editor import CLIP, applied, editing, edits, edits_of, play, project_with_a_finding
from lsprotocol import types


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return project_with_a_finding(tmp_path)


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
