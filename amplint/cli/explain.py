"""`amplint explain`: the pages of rules."""

from __future__ import annotations

import re
import sys

import click

from amplint.cli.completion import complete_rules
from amplint.cli.console import CLEAN, FAILED, Console, say, wants_color
from amplint.cli.option_groups import TEXT_OR_JSON
from amplint.cli.rules import chosen_rules, rule_record
from amplint.engine.registry import RegistryError, RuleInfo
from amplint.engine.rule_pages import rule_page
from amplint.model.rule_options import options_section


def _bold_headings(page: str) -> str:
    return re.sub(r"^#+ (.*)$", "\x1b[1m\\1\x1b[0m", page, flags=re.MULTILINE)


@click.command("explain", short_help="Show the pages of rules.")
@click.argument("rules", nargs=-1, required=True, metavar="RULES...", shell_complete=complete_rules)
@TEXT_OR_JSON
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colours.")
def explain(rules: tuple[str, ...], output_format: str, color: str) -> int:
    """Show the pages of RULES: codes, prefixes of codes, names, or ALL."""
    console = Console()
    try:
        pages = [(info, rule_page(info.code)) for info in chosen_rules(rules, console)]
    except RegistryError as error:
        console.problem("", str(error))
        return FAILED
    if output_format == "json" and pages:
        import json

        records = [rule_record(info) | {"explanation": page.rstrip() + "\n"} for info, page in pages]
        say(sys.stdout, json.dumps(records, indent=2) + "\n")
    else:
        text = "\n".join(_shown(info, page) for info, page in pages)
        say(sys.stdout, _bold_headings(text) if wants_color(color, sys.stdout) else text)
    return FAILED if console.failed else CLEAN


def _shown(info: RuleInfo, page: str) -> str:
    fix = f"{info.fix} fix" if info.fix else "no fix"
    on = "on by default" if info.default else "runs when selected"
    marks = f"{info.category}, {info.severity}, {info.confidence} confidence, {fix}, {on}, since {info.since}"
    return f"# {info.code} {info.name}\n\n{marks}\n\n{page.rstrip()}\n{options_section(info.options)}"
