"""Rules that crash or never end, and checks that nobody waits for any more: the server lives on, and ends as it should."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path

import pytest

if importlib.util.find_spec("pytest_lsp") is None or importlib.util.find_spec("pygls") is None:
    pytest.skip("pytest-lsp is not installed", allow_module_level=True)

import misbehaving_pack
from editor import editing, play, project_with_a_finding


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return project_with_a_finding(tmp_path)


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
