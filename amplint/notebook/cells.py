"""The Python cells of a notebook, with what only IPython understands masked by Python that does nothing."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from amplint.notebook.places import Node

_ONLY_AST = 0x400
"""`ast.PyCF_ONLY_AST`, without the cost of that module."""
_PYTHON_MAGICS = frozenset({"time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "snakeviz"})
_LANGUAGE_MAGICS = frozenset({"fs", "md", "md-sandbox", "r", "scala", "sh", "sql"})
"""Databricks writes them with one `%`, for the whole cell; elsewhere that may be a line of its own among Python."""
_ASSIGNED_MAGIC = re.compile(r"(\s*[^\s=#'\"%!?][^=#'\"%!?]*=\s*)([!%][^\n]*)")


@dataclass(frozen=True)
class Cell:
    """One Python cell: its number among all cells (1-based), its lines, what stands for them, and where its source lies.

    `literals` are the JSON strings of the lines; empty when the source is one string, or not split by lines.
    """

    number: int
    lines: tuple[str, ...]
    masked: tuple[str, ...]
    place: tuple[int, int]
    literals: tuple[tuple[int, int], ...] = ()


def speaks_python(document: dict[str, Any]) -> bool:
    """Whether the code of a notebook is Python, as far as its metadata say."""
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    named = [metadata.get("language_info"), metadata.get("kernelspec")]
    languages = [
        each.get("name" if index == 0 else "language") for index, each in enumerate(named) if isinstance(each, dict)
    ]
    return all(language is None or str(language).lower().startswith(("python", "ipython")) for language in languages)


def cells(nodes: list[Node]) -> Iterator[Cell]:
    """The Python cells among the cells of a notebook."""
    for number, node in enumerate(nodes, 1):
        fields = node.value if isinstance(node.value, dict) else {}
        kind, source = fields.get("cell_type"), fields.get("source")
        if kind is None or source is None or kind.value != "code" or _is_other_language(fields):
            continue
        cell = _cell(number, source)
        if cell is not None:
            yield cell


def _is_other_language(fields: dict[str, Node]) -> bool:
    """Whether an editor has marked a cell as one in another language."""
    metadata = _plain(fields["metadata"]) if "metadata" in fields else None
    marked = metadata.get("vscode") if isinstance(metadata, dict) else None
    return isinstance(marked, dict) and marked.get("languageId", "python") != "python"


def _plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(value) for key, value in node.value.items()}
    return node.value


def _cell(number: int, source: Node) -> Cell | None:
    place = (source.start, source.end)
    if isinstance(source.value, str):
        lines = tuple(source.value.splitlines(keepends=True))
        return Cell(number, lines, _masked(lines), place)
    if not isinstance(source.value, list) or not all(isinstance(item.value, str) for item in source.value):
        return None
    items = [item.value for item in source.value]
    lines = tuple("".join(items).splitlines(keepends=True))
    whole = list(lines) == items
    literals = tuple((item.start, item.end) for item in source.value) if whole else ()
    return Cell(number, lines, _masked(lines), place, literals)


def _masked(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a cell as Python: what only IPython understands does nothing, and is as long as before."""
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is None or _is_python("".join(lines)):
        return lines
    head = lines[first].lstrip()
    if head.startswith("%%") and (head[2:].split() or [""])[0] not in _PYTHON_MAGICS:
        return tuple(map(_as_comment, lines))
    masked: list[str] = []
    goes_on = False
    for line in lines:
        for_shell = line.lstrip().startswith(("%", "!", "?")) or line.rstrip().endswith("?")
        masked.append(_as_comment(line) if goes_on else _as_pass(line) if for_shell else _without_magic(line))
        goes_on = (goes_on or for_shell) and line.rstrip("\n").endswith("\\")
    if head.startswith("%") and (head[1:].split() or [""])[0] in _LANGUAGE_MAGICS and not _is_python("".join(masked)):
        return tuple(map(_as_comment, lines))
    return tuple(masked)


def _is_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<cell>", "exec", _ONLY_AST, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _as_comment(line: str) -> str:
    body = line.rstrip("\n")
    return "#" * len(body) + line[len(body) :]


def _as_pass(line: str) -> str:
    body = line.rstrip("\n")
    indent = body[: len(body) - len(body.lstrip())]
    return indent + _idle("pass", len(body) - len(indent)) + line[len(body) :]


def _without_magic(line: str) -> str:
    """A line with the magic that it assigns (`files = !ls`) taken for None."""
    match = _ASSIGNED_MAGIC.match(line)
    if match is None:
        return line
    return match[1] + _idle("None", len(match[2])) + line[match.end(2) :]


def _idle(word: str, length: int) -> str:
    """Python of a given length that does nothing."""
    return word + "#" * (length - len(word)) if length >= len(word) else "0" * length
