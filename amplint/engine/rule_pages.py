"""The page of each rule: its text, and where it is published. Rules are not imported for it, and LibCST neither."""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from amplint.engine.registry import GROUP
from amplint.engine.selection import SYNTAX_ERROR, UNKNOWN_SUPPRESSION, UNUSED_SUPPRESSION, all_rules
from amplint.model.records import NamedTuple
from amplint.system import installed

_ENGINE_PAGES = {
    SYNTAX_ERROR: """\
The file is no valid Python

## What it does
Reports that the Python which runs amplint cannot parse the file. No rule can look at such a file.

Syntax of a newer Python is read by an older one as near as that comes: type parameters and aliases, any quotes and line ends
in f-strings, template strings, `except A, B`, `except*`. What is left (f-strings in f-strings of f-strings, say) needs the
newer Python.

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
codes in `# noqa: ...` that begin as amplint's own do but do not exist. Reports, too, what is written as for another linter
(`# amplint: disable=AMP101`), and a `# noqa` that names a rule of amplint in a way that `noqa` does not know (`# noqa AMP101`,
`# noqa: clip-before-unscale`): it silences every finding on its line.

## Why it matters
The comment does not do what its author thinks it does.
""",
}


class _Pack(NamedTuple):
    """The folder of a rule pack, and the address of its documentation, if its distribution names one."""

    folder: Path
    documentation: str


def rule_page(code: str) -> str:
    """The page of a rule, in Markdown; its first line is the summary. Empty where the rule is not installed."""
    if code in _ENGINE_PAGES:
        return _ENGINE_PAGES[code]
    file = _file(code)
    return "" if file is None else ast.get_docstring(ast.parse(file[1].read_bytes())) or ""


def published_page(code: str) -> str | None:
    """The public address of a rule's page: below the `Documentation` that the metadata of its distribution names, if any."""
    file = _file(code)
    if file is None or not file[0].documentation:
        return None
    return f"{file[0].documentation}/rules/{code.lower()}/"


def page_address(code: str) -> str | None:
    """Where to read about a rule: the public address, or else that of the installed file that begins with its page."""
    file = _file(code)
    return published_page(code) or (None if file is None else file[1].as_uri())


@lru_cache(maxsize=256)
def _file(code: str) -> tuple[_Pack, Path] | None:
    """The pack of a rule, and the module whose docstring is its page."""
    rule = all_rules().get(code)
    if rule is None or not rule.module:
        return None
    files = ((pack, pack.folder / f"{rule.module}.py") for pack in _packs())
    return next((found for found in files if found[1].is_file()), None)


@lru_cache(maxsize=1)
def _packs() -> tuple[_Pack, ...]:
    from importlib.metadata import entry_points  # slow, and of no use to a clean run

    with installed.Only():
        return tuple(
            _Pack(Path(folder), _documentation(entry.dist.metadata.get_all("Project-URL") or () if entry.dist else ()))
            for entry in entry_points(group=GROUP)
            if (spec := importlib.util.find_spec(entry.value)) is not None
            for folder in spec.submodule_search_locations or ()
        )


def _documentation(urls: Iterable[str]) -> str:
    """The address under the label `Documentation`, without a slash at its end; empty where there is none."""
    for url in urls:
        label, _, address = url.partition(",")
        if label.strip().lower() == "documentation" and address.strip().startswith(("https://", "http://")):
            return address.strip().rstrip("/")
    return ""
