"""`amplint clean`: forget what earlier runs found out."""

from __future__ import annotations

from pathlib import Path

import click

from amplint.cli.console import CLEAN, FAILED, Console, one_line
from amplint.cli.option_values import as_path
from amplint.engine.cache_storage import VARIABLE, Storage
from amplint.engine.config import ConfigError, Overrides, SettingsResolver
from amplint.report.view import count
from amplint.system.reading import explained


@click.command("clean", short_help="Remove the cache.")
@click.option("--cache-dir", metavar="FOLDER", callback=as_path, envvar=VARIABLE, help="Where the cache lies.")
@click.option("--all", "everything", is_flag=True, help="Remove the caches of all projects.")
@click.option("-q", "--quiet", is_flag=True, help="Say nothing.")
def clean(cache_dir: Path | None, everything: bool, quiet: bool) -> int:
    """Remove the cache of the project that the current folder belongs to, from where a run there would put it."""
    console = Console(quiet)
    try:
        settings = SettingsResolver(Overrides()).for_folder(Path.cwd())
        setting = settings.root / settings.cache_dir if settings.cache_dir else None
        folder, number = Storage(settings.root, setting, cache_dir).clear(everything)
    except ConfigError as error:
        console.problem("", str(error))
        return FAILED
    except OSError as error:
        console.problem("", one_line(f"the cache cannot be removed: {explained(error)}"))
        return FAILED
    whose = count(number, "folder") if everything else str(settings.root)
    if number:
        console.note(f"Removed the cache of {whose} from {folder}")
    else:
        console.note(f"No cache in {folder}" if everything else f"No cache of {whose} in {folder}")
    return CLEAN
