"""`amplint explain`: the pages of rules."""

from __future__ import annotations

import re
import sys

import click

from amplint.cli.completion import complete_rules
from amplint.cli.console import CLEAN, FAILED, Console, say, wants_color
from amplint.cli.options import TEXT_OR_JSON
from amplint.cli.rules import chosen_rules, rule_record
from amplint.engine.registry import RegistryError, RuleInfo, load_rules
from amplint.engine.selection import SYNTAX_ERROR, UNKNOWN_SUPPRESSION, UNUSED_SUPPRESSION
from amplint.model.rule_options import options_section

_ENGINE_PAGES = {
    SYNTAX_ERROR: """\
The file is no valid Python

## What it does
Reports that Python cannot parse the file. No rule can look at such a file.

It is reported with every selection of rules, unless `ignore` or `per-file-ignores` names it.
""",
    UNUSED_SUPPRESSION: """\
A comment suppresses nothing

## What it does
Reports codes in `# noqa: ...`, and codes and names in `# amplint: ignore[...]` and `# amplint: file-ignore[...]`, for which
there is no finding at that place. A bare `# amplint: ignore` is reported, too; a bare `# noqa` and codes of other tools are not.

## Why it matters
A comment that is left behind will hide the next defect on its line.

## Fix safety
Safe: the code is removed from the comment, or the comment when nothing else is in it.

## Limitations
Codes of rules that were not selected are not judged.
""",
    UNKNOWN_SUPPRESSION: """\
A suppression names no rule

## What it does
Reports `# amplint: ignore[...]` with a word that is neither the code, nor the prefix of a code, nor the name of a rule, and
codes in `# noqa: ...` that begin as amplint's own do but do not exist.

## Why it matters
The comment does not do what its author thinks it does.
""",
}


def _page(info: RuleInfo) -> str:
    if info.code in _ENGINE_PAGES:
        return _ENGINE_PAGES[info.code]
    return next(rule.page for rule in load_rules() if rule.code == info.code)


def _bold_headings(page: str) -> str:
    return re.sub(r"^#+ (.*)$", "\x1b[1m\\1\x1b[0m", page, flags=re.MULTILINE)


@click.command("explain", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("rules", nargs=-1, required=True, metavar="RULES...", shell_complete=complete_rules)
@TEXT_OR_JSON
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colours.")
def explain(rules: tuple[str, ...], output_format: str, color: str) -> int:
    """Show the pages of RULES: codes, prefixes of codes, names, or ALL."""
    console = Console()
    try:
        pages = [(info, _page(info)) for info in chosen_rules(rules, console)]
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
