"""`amplint explain`: the page of a rule."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

import click

from amplint.cli.console import CLEAN, FAILED, Console, say, wants_color
from amplint.engine.config import nearest
from amplint.engine.registry import RegistryError, RuleInfo
from amplint.engine.rule_pages import rule_page
from amplint.engine.selection import all_rules


def _find(word: str, infos: Iterable[RuleInfo]) -> RuleInfo | None:
    return next((info for info in infos if word.upper() == info.code or word.lower() == info.name), None)


def _bold_headings(page: str) -> str:
    return re.sub(r"^#+ (.*)$", "\x1b[1m\\1\x1b[0m", page, flags=re.MULTILINE)


@click.command("explain", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("rule")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colours.")
def explain(rule: str, color: str) -> int:
    """Show the page of a RULE, by its code or its name."""
    try:
        infos = all_rules().values()
        info = _find(rule, infos)
        if info is None:
            near = nearest(rule, [word for one in infos for word in (one.code, one.name)])
            Console().problem("", f"unknown rule `{rule}`{near}")
            return FAILED
        page = rule_page(info.code)
    except RegistryError as error:
        Console().problem("", str(error))
        return FAILED
    fix = f"{info.fix} fix" if info.fix else "no fix"
    on = "on by default" if info.default else "runs when selected"
    marks = f"{info.category}, {info.severity}, {info.confidence} confidence, {fix}, {on}, since {info.since}"
    text = f"# {info.code} {info.name}\n\n{marks}\n\n{page.rstrip()}\n"
    say(sys.stdout, _bold_headings(text) if wants_color(color, sys.stdout) else text)
    return CLEAN
