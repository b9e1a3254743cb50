"""`amplint clean`: forget what earlier runs found out."""

from __future__ import annotations

from pathlib import Path

import click

from amplint.cli.console import CLEAN, FAILED, Console, one_line
from amplint.cli.option_values import as_path
from amplint.cli.summary import count
from amplint.engine.cache_storage import VARIABLE, Storage
from amplint.engine.config import ConfigError, Overrides, SettingsResolver
from amplint.system.reading import explained


@click.command("clean", short_help="Remove the cache.")
@click.option("--cache-dir", metavar="FOLDER", callback=as_path, envvar=VARIABLE, help="Where the cache lies.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
def clean(cache_dir: Path | None, quiet: bool) -> int:
    """Remove the cache, of all projects, from where a run in the current folder would put it."""
    console = Console(quiet)
    try:
        settings = SettingsResolver(Overrides()).for_folder(Path.cwd())
        setting = settings.root / settings.cache_dir if settings.cache_dir else None
        folder, number = Storage(settings.root, setting, cache_dir).clear()
    except ConfigError as error:
        console.problem("", str(error))
        return FAILED
    except OSError as error:
        console.problem("", one_line(f"the cache cannot be removed: {explained(error)}"))
        return FAILED
    console.note(f"Removed the cache of {count(number, 'folder')} from {folder}" if number else f"No cache in {folder}")
    return CLEAN
