"""`amplint rules`: what there is to run."""

from __future__ import annotations

import sys

import click

from amplint.cli.console import CLEAN, FAILED, Console, say
from amplint.engine.registry import RegistryError
from amplint.engine.selection import all_rules


@click.command("rules", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--output-format", type=click.Choice(["table", "json"]), default="table", show_default=True)
def rules(output_format: str) -> int:
    """List all rules: code, whether it runs by default (+) or when it is selected (o), fix, name, category, severity,
    confidence, and the first version that has it."""
    try:
        infos = all_rules().values()
    except RegistryError as error:
        Console().problem("", str(error))
        return FAILED
    if output_format == "json":
        import json

        keys = ("code", "name", "summary", "fix", "default", "category", "severity", "confidence", "since")
        say(sys.stdout, json.dumps([{key: getattr(info, key) for key in keys} for info in infos], indent=2) + "\n")
        return CLEAN
    width = max(len(info.name) for info in infos)
    for info in infos:
        on = "+" if info.default else "o"
        marks = f"{info.category:8}  {info.severity:7}  {info.confidence:6}  {info.since:5}"
        say(sys.stdout, f"{info.code}  {on}  {info.fix or '-':7}  {info.name:{width}}  {marks}  {info.summary}\n")
    return CLEAN
