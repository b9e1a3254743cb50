"""`python -m amplint.testing FOLDER`: write what the fixes make of the fixtures in a folder."""

from __future__ import annotations

from pathlib import Path

import click

from amplint.testing.fix_claims import write_fixed_file
from amplint.testing.fixtures import fixtures_in


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--rule", "code", default="", metavar="CODE", help="Only the fixtures of this rule.")
def write_fixed_files(folder: Path, code: str) -> None:
    """Write the `.fixed.py` file of every fixture in FOLDER; then review the difference."""
    fixtures = fixtures_in(folder.resolve(), code)
    if not fixtures:
        raise click.UsageError(f"{folder} holds no fixtures: FOLDER/<module of the rule>/flagged_<shape>.py")
    for fixture in fixtures:
        write_fixed_file(fixture)
    click.echo(f"{len(fixtures)} fixtures looked at")


if __name__ == "__main__":
    write_fixed_files()
