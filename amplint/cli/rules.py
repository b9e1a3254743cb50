"""`amplint rules`: what there is to run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import click

from amplint.cli.completion import complete_rules
from amplint.cli.console import CLEAN, FAILED, Console, say
from amplint.cli.option_groups import TEXT_OR_JSON
from amplint.engine.registry import RegistryError, RuleInfo
from amplint.engine.selection import all_rules, rules_named, unknown_rule


@click.command("rules", short_help="List rules.")
@click.argument("selectors", nargs=-1, metavar="[RULES]...", shell_complete=complete_rules)
@TEXT_OR_JSON
def rules(selectors: tuple[str, ...], output_format: str) -> int:
    """List rules, all if none is named: code, whether it runs by default (+) or when it is selected (o), fix, name, category,
    severity, confidence, and the first version that has it."""
    console = Console()
    infos = chosen_rules(selectors or ("ALL",), console)
    if output_format == "json" and infos:
        import json

        say(sys.stdout, json.dumps(list(map(rule_record, infos)), indent=2) + "\n")
    elif infos:
        say(sys.stdout, "".join(_lines(infos)))
    return FAILED if console.failed else CLEAN


def _lines(infos: list[RuleInfo]) -> Iterable[str]:
    width = max(len(info.name) for info in infos)
    yield f"Code    On Fix      {'Name':{width}}  Category  Severity Sure    Since  Summary\n"
    for info in infos:
        on = "+" if info.default else "o"
        marks = f"{info.category:8}  {info.severity:7}  {info.confidence:6}  {info.since:5}"
        yield f"{info.code}  {on}  {info.fix or '-':7}  {info.name:{width}}  {marks}  {info.summary}\n"


def chosen_rules(selectors: Iterable[str], console: Console) -> list[RuleInfo]:
    """The rules that selectors stand for, in the order of their codes; none when one of them stands for no rule.

    Args:
        selectors: as the user wrote them.
        console: hears what is wrong with them.
    """
    try:
        infos = all_rules()
    except RegistryError as error:
        console.problem("", str(error))
        return []
    known = {info.code: info.name for info in infos.values()}
    if problem := unknown_rule(selectors, known):
        console.problem("", problem)
        return []
    codes = rules_named(selectors, known)
    return [info for info in infos.values() if info.code in codes]


def rule_record(info: RuleInfo) -> dict[str, Any]:
    """What is known of a rule, as a program reads it."""
    keys = ("code", "name", "summary", "fix", "default", "category", "severity", "confidence", "since")
    options = [{"name": each.name, "default": each.default, "doc": each.doc} for each in info.options]
    return {key: getattr(info, key) for key in keys} | {"options": options}
