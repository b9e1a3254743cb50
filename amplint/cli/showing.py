"""The step of `amplint check` that shows which files it would check, and under which settings."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from amplint.cli.console import CLEAN, FAILED, Console, say
from amplint.cli.options import Options
from amplint.cli.targets import find_targets
from amplint.engine.config import Settings, SettingsResolver
from amplint.engine.config_values import KEYS
from amplint.report.escape import printable


def show(options: Options, resolver: SettingsResolver, console: Console) -> int:
    """Show the files, a line for each, or their settings as TOML; the exit code.

    Args:
        options: which of the two, and the paths.
        resolver: knows the settings of each file.
        console: hears of paths that stand for nothing.
    """
    wanted = find_targets(options, resolver, console)
    if options.show_files:
        say(sys.stdout, "".join(f"{printable(item.display)}\n" for item in wanted.files))
    else:
        files: dict[Settings, list[str]] = {}
        for item in wanted.files:
            files.setdefault(item.settings, []).append(item.display)
        say(sys.stdout, "\n".join(_shown(settings, names) for settings, names in files.items()))
    return FAILED if console.failed else CLEAN


def _shown(settings: Settings, names: list[str]) -> str:
    """The settings of some files, as a configuration file would say them."""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    lines = [f"# {printable(names[0])}{more}: {printable(settings.origin) or 'no configuration file'}"]
    for key in KEYS.values():
        value = getattr(settings, key.field)
        if key.field == "torch":
            value = ".".join(map(str, value))
        if value == "" or (value == () and key.name in ("select", "include")):
            lines.append(f"# {key.name}: {key.default}")
        else:
            lines.append(f"{key.name} = {_toml(dict(value) if 'table' in key.kind.name else value)}")
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        import json

        return json.dumps(value)  # every string of JSON is one of TOML
    if isinstance(value, Mapping):
        entries = (f"{_toml(key)} = {_toml(dict(each) if _is_table(each) else each)}" for key, each in value.items())
        return f"{{ {', '.join(entries)} }}" if value else "{}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value)


def _is_table(value: Any) -> bool:
    """Whether a value is the entries of a table: a list of lists is none of ours."""
    return isinstance(value, tuple) and bool(value) and all(isinstance(each, tuple) for each in value)
