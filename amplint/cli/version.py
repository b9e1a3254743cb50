"""`amplint version`: which amplint this is, and what it stands on."""

from __future__ import annotations

import platform
import sys
from importlib import metadata

import click

from amplint import __version__
from amplint.cli.console import CLEAN, say
from amplint.cli.option_groups import TEXT_OR_JSON


@click.command("version", short_help="Show the version.")
@TEXT_OR_JSON
def version(output_format: str) -> int:
    """Show the version; as JSON those of Python, LibCST and PyTorch, too, as far as they are installed."""
    if output_format == "json":
        import json

        found: dict[str, str | None] = {"amplint": __version__, "python": platform.python_version()}
        found |= {name: _installed(name) for name in ("libcst", "torch")}
        say(sys.stdout, json.dumps(found, indent=2) + "\n")
    else:
        say(sys.stdout, f"amplint {__version__}\n")
    return CLEAN


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
