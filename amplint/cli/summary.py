"""The last lines of a run: what was found, what was fixed, what could be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from amplint.cli.options import Options
from amplint.diagnostics import Applicability, Diagnostic


def count(number: int, noun: str) -> str:
    """A number and its noun, `noun` being the singular."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


def fixes(fixed: Mapping[str, Counter[str]], known: Mapping[str, str]) -> Iterator[str]:
    """What was applied, by file; `known` gives the name of each code."""
    for path, applied in fixed.items():
        yield f"{path}:"
        for code, number in sorted(applied.items()):
            yield f"    {number} x {code} ({known[code]})"


def lines(
    diagnostics: Sequence[Diagnostic], fixed: Mapping[str, Counter[str]], checked: int, options: Options
) -> Iterator[str]:
    """The summary of a run over `checked` files, `diagnostics` being what remains."""
    done = sum(sum(applied.values()) for applied in fixed.values())
    if options.diff:
        would = f"Would fix {count(done, 'finding')} in {count(len(fixed), 'file')}" if done else "Nothing to fix"
        yield would + _more(diagnostics, options)
        return
    if done:
        yield f"Fixed {count(done, 'finding')} in {count(len(fixed), 'file')}"
    if not diagnostics:
        yield f"{'No findings remain' if done else 'No findings'} in {count(checked, 'file')}"
        return
    paths = len({diagnostic.path for diagnostic in diagnostics})
    verb = f"{count(len(diagnostics), 'finding')} {'remains' if len(diagnostics) == 1 else 'remain'}" if done else (
        f"Found {count(len(diagnostics), 'finding')}"
    )  # fmt: skip
    yield f"{verb} in {paths} of {count(checked, 'file')}{_more(diagnostics, options)}"


def _more(diagnostics: Sequence[Diagnostic], options: Options) -> str:
    """What options would do to the findings."""
    trust = Counter(diagnostic.fix.applicability for diagnostic in diagnostics if diagnostic.fix)
    safe, unsafe = trust[Applicability.SAFE], trust[Applicability.UNSAFE]
    if options.unsafe_fixes:
        safe, unsafe = safe + unsafe, 0
    parts: list[str] = []
    if safe and not (options.fix or options.diff):
        parts.append(f"{safe} fixable with `--fix`")
    if unsafe:
        parts.append(f"{unsafe}{' more' if parts else ''} with `--unsafe-fixes`")
    return "; " + ", ".join(parts) if parts else ""
