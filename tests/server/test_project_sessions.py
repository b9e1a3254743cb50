"""What an editor is told about a project: its folders, settings, baseline, and findings on demand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

if importlib.util.find_spec("pytest_lsp") is None or importlib.util.find_spec("pygls") is None:
    pytest.skip("pytest-lsp is not installed", allow_module_level=True)

from editor import CLIP, Editor, editing, play, project_with_a_finding
from lsprotocol import types
from program import amplint


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return project_with_a_finding(tmp_path)


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


def saved(path: Path, text: str, editor: Editor) -> None:
    """A file is written on the disk, and the editor, which watches it, says so."""
    path.write_text(text)
    event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
    editor.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))


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
