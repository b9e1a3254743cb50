"""The VS Code extension says of itself what amplint says; `npm test` in its folder tries it on the real server."""

from __future__ import annotations

import json
import re

from checkout import ROOT

FOLDER = ROOT / "editors" / "vscode"
MANIFEST = json.loads((FOLDER / "package.json").read_text("utf-8"))


def test_the_lock_file_is_that_of_the_manifest() -> None:
    lock = json.loads((FOLDER / "package-lock.json").read_text("utf-8"))["packages"][""]
    assert (lock["version"], lock["devDependencies"]) == (MANIFEST["version"], MANIFEST["devDependencies"])


def test_every_setting_and_every_command_is_documented_and_used() -> None:
    readme, code = ((FOLDER / name).read_text("utf-8") for name in ("README.md", "src/extension.ts"))
    settings = set(MANIFEST["contributes"]["configuration"]["properties"])
    assert settings == set(re.findall(r"^\| `(amplint[\w.]+)`", readme, re.MULTILINE))
    for command in MANIFEST["contributes"]["commands"]:
        assert command["title"] in readme and f'"{command["command"]}"' in code
