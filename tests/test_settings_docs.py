"""The schema of the settings accepts what amplint accepts, and the page of the settings tells of all of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from checkout import ROOT
from jsonschema import Draft7Validator

from amplint.engine.config import ConfigError, Settings, inline
from amplint.engine.config_values import KEYS
from amplint.engine.registry import rule_index
from amplint.engine.selection import active_codes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA = json.loads((ROOT / "docs" / "settings-schema.json").read_text("utf-8"))
PAGE = (ROOT / "docs" / "settings.md").read_text("utf-8")


def fits(text: str) -> bool:
    """What the schema says of settings."""
    return bool(Draft7Validator(SCHEMA).is_valid(tomllib.loads(text)))


def is_taken(text: str) -> bool:
    """What amplint says of settings."""
    try:
        settings = Settings(Path("/project"), origin="--config", **dict(inline([text])))
        active_codes(settings, Path("/project/a.py"), rule_index())
    except ConfigError:
        return False
    return True


def test_the_schema_is_one() -> None:
    Draft7Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", [name for name in KEYS if name != "wrappers"])
def test_every_example_is_valid(name: str) -> None:
    text = f"{name} = {KEYS[name].example}"
    assert fits(text) and is_taken(text)
    assert f"\n## {name}\n" in PAGE and f"\n{text}\n" in PAGE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "select = ['ALL']\nextend-select = []\nignore = ['amp1', 'clip-before-unscale']",
        "torch-version = '1.13'",
        "torch-version = '2.10.1'",
        "[per-file-ignores]\n'a' = []\n'!b' = ['AMP1']",
        "[severity]\nAMP1 = 'error'\nclip-before-unscale = 'warning'",
        "[rules.misaligned-linear]\nmultiple = 16\n[rules.AMP404]\nfewest-weights = 1",
        "fix = false\nrespect-gitignore = true\nfixable = []",
    ],
)
def test_what_both_take(text: str) -> None:
    assert fits(text) and is_taken(text)


@pytest.mark.parametrize(
    "text",
    [
        "selct = ['AMP1']",
        "select = 'AMP1'",
        "select = []",
        "ignore = ['']",
        "ignore = [1]",
        "fix = 'yes'",
        "cache-dir = ''",
        "exclude = { a = 1 }",
        "torch-version = 2.4",
        "torch-version = '2'",
        "torch-version = '0.4'",
        "torch-version = '1.14'",
        "torch-version = '99.0'",
        "per-file-ignores = ['a']",
        "per-file-ignores = { a = 'AMP1' }",
        "wrappers = { a = 1 }",
        "severity = { AMP101 = 'fatal' }",
        "severity = 'error'",
        "rules = { AMP401 = 8 }",
        "rules = { AMP401 = { multipel = 8 } }",
        "rules = { AMP401 = { multiple = 0 } }",
        "rules = { AMP404 = { fewest-weights = true } }",
    ],
)
def test_what_neither_takes(text: str) -> None:
    assert not fits(text) and not is_taken(text)


def test_names_of_rules_are_offered() -> None:
    words = SCHEMA["definitions"]["rule"]["anyOf"][0]["enum"]
    assert {"ALL", "AMP101", "clip-before-unscale", "AMP901"} <= set(words)
