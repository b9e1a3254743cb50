"""Write the figures and the findings of docs/real-code.md anew from manifest.toml, verdicts.toml and repositories.toml.

    python benchmarks/real_code/document.py

Only what stands between the marks `<!-- begin NAME -->` and `<!-- end NAME -->` is rewritten. Exit code 1, with a
line for each, when a rule of the default set misses the precision that it is held to.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from fetch import read_manifest

from amplint.engine.registry import rule_index

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs" / "real-code.md"
OVERALL, EACH, ENOUGH = 0.95, 0.9, 5
"""The precision demanded of all findings together, of each rule, and how many findings make a rule's precision mean something."""

Finding = dict[str, Any]


def _right(findings: list[Finding]) -> float:
    return [one["verdict"] for one in findings].count("true") / len(findings)


def _row(label: str, findings: list[Finding]) -> str:
    counts = [sum(one["verdict"] == verdict for one in findings) for verdict in ("true", "debatable", "false")]
    return f"| {label} | {len(findings)} | {' | '.join(map(str, counts))} | {_right(findings):.1%} |".replace(
        ".0%", "%"
    )


def _by_rule(findings: list[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for one in findings:
        found[one["code"]].append(one)
    return dict(sorted(found.items()))


def _table(findings: list[Finding]) -> str:
    """Every finding with its verdict."""
    rows = ["| package | version | place | code | verdict | reason |", "|---|---|---|---|---|---|"]
    for one in findings:
        place = f"`{one['file']}:{one['line']}`"
        cells = (one["package"], one["version"], place, one["code"], one["verdict"], one["reason"])
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def in_repositories(recorded: dict[str, list[Finding]]) -> dict[str, str]:
    """The parts of the document about repositories of training code, by their names."""
    names = {rule.code: rule.name for rule in rule_index()}
    findings = recorded["finding"]
    head = "| code | findings | true | debatable | false | precision |\n|---|---:|---:|---:|---:|---:|"
    rows = [_row(f"{code} {names.get(code, 'syntax-error')}", of_rule) for code, of_rule in _by_rule(findings).items()]
    table = ["| repository | place | code | verdict | reason |", "|---|---|---|---|---|"]
    for one in findings:
        place = f"`{one['file']}:{one['line']}`"
        table.append(f"| {' | '.join((one['repository'], place, one['code'], one['verdict'], one['reason']))} |")
    trees = ", ".join(f"{one['name']} {one['commit']}" for one in recorded["repository"])
    return {
        "repositories": f"{trees}.",
        "repository precision": "\n".join((head, *rows, _row("all", findings))),
        "repository findings": "\n".join(table),
    }


def _opt_in(findings: list[Finding], first: list[dict[str, Any]]) -> str:
    """What the rules that are off by default find, and what they found at first."""
    before = {one["code"]: f"{one['findings']} ({one['true']} true, {one['false']} false)" for one in first}
    rows = [
        "| code | first look | findings | true | debatable | false | precision |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    by_rule = _by_rule(findings)
    for rule in rule_index():
        if not rule.default:
            label = f"{rule.code} {rule.name} | {before.get(rule.code, 'none')}"
            of_rule = by_rule.get(rule.code)
            rows.append(_row(label, of_rule) if of_rule else f"| {label} | 0 | 0 | 0 | 0 | |")
    return "\n".join(rows)


def parts(findings: list[Finding], opt_in: list[Finding], first: list[dict[str, Any]]) -> dict[str, str]:
    """The generated parts of the document by their names."""
    names = {rule.code: rule.name for rule in rule_index()}
    packages = [(package.name, package.version) for package in read_manifest()]
    silent = [f"{name} {version}" for name, version in packages if all(one["package"] != name for one in findings)]
    head = "| code | findings | true | debatable | false | precision |\n|---|---:|---:|---:|---:|---:|"
    rows = [_row(f"{code} {names[code]}", of_rule) for code, of_rule in _by_rule(findings).items()]
    return {
        "precision": "\n".join((head, *rows, _row("all", findings))),
        "silent": f"amplint says nothing about {len(silent)} of the {len(packages)} packages: {', '.join(silent)}.",
        "findings": _table(findings),
        "opt-in": _opt_in(opt_in, first),
        "opt-in findings": _table(opt_in),
    }


def shortfalls(findings: list[Finding]) -> list[str]:
    """The demands that are not met, a line for each."""
    short = [f"all findings: {_right(findings):.1%}, demanded {OVERALL:.0%}"] if _right(findings) < OVERALL else []
    for code, of_rule in _by_rule(findings).items():
        if len(of_rule) >= ENOUGH and _right(of_rule) < EACH:
            short.append(f"{code}: {_right(of_rule):.1%}, demanded {EACH:.0%}")
    return short


def main() -> int:
    verdicts = tomllib.loads(Path(__file__).with_name("verdicts.toml").read_text(encoding="utf-8"))
    findings = verdicts["finding"]
    text = DOCUMENT.read_text(encoding="utf-8")
    repositories = tomllib.loads(Path(__file__).with_name("repositories.toml").read_text(encoding="utf-8"))
    written = parts(findings, verdicts["opt_in"], verdicts["first_look"]) | in_repositories(repositories)
    for name, part in written.items():
        before, _, rest = text.partition(f"<!-- begin {name} -->\n")
        _, mark, after = rest.partition(f"<!-- end {name} -->")
        text = f"{before}<!-- begin {name} -->\n{part}\n{mark}{after}"
    DOCUMENT.write_text(text, encoding="utf-8")
    short = shortfalls(findings)
    print("\n".join(short), end="\n" if short else "", file=sys.stderr)
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
