"""`amplint config`: what may be set."""

from __future__ import annotations

import sys

import click

from amplint.cli.completion import complete_keys
from amplint.cli.console import CLEAN, FAILED, Console, say
from amplint.cli.option_groups import TEXT_OR_JSON
from amplint.engine.config_values import KEYS, SettingKey
from amplint.engine.nearest import nearest


@click.command("config", short_help="List the keys of the settings, or explain some.")
@click.argument("keys", nargs=-1, metavar="[KEY]...", shell_complete=complete_keys)
@TEXT_OR_JSON
def config(keys: tuple[str, ...], output_format: str) -> int:
    """List the keys of `[tool.amplint]` in pyproject.toml, or of amplint.toml; of KEYs say what they do."""
    for word in keys:
        if word not in KEYS:
            Console().problem("", f"unknown key `{word}`{nearest(word, list(KEYS)) or '; `amplint config` lists them'}")
            return FAILED
    chosen = [KEYS[word] for word in keys] or list(KEYS.values())
    if output_format == "json":
        import json

        records = [
            {"name": key.name, "type": key.kind.name, "default": key.default, "example": key.example, "doc": key.doc}
            for key in chosen
        ]
        say(sys.stdout, json.dumps(records, indent=2) + "\n")
    elif keys:
        say(sys.stdout, "\n".join(map(_page, chosen)))
    else:
        width = max(map(len, KEYS))
        say(sys.stdout, "".join(f"{key.name:{width}}  {key.kind.name:17}  {key.doc}\n" for key in chosen))
    return CLEAN


def _page(key: SettingKey) -> str:
    return f"{key.name}: {key.kind.name}\n{key.doc}\n\nDefault: {key.default}\nExample: {key.name} = {key.example}\n"
