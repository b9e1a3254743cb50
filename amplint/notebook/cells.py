"""The Python cells of a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from amplint.model.records import frozen
from amplint.notebook.magics import masked
from amplint.notebook.places import Node


class NotebookError(ValueError):
    """The text is no notebook; the message is one line."""


@frozen
class Cell:
    """One Python cell: its number among all cells (1-based), its lines, what stands for them, and where its source lies.

    `literals` are the JSON strings of the lines; empty when the source is one string, or not split by lines.
    """

    number: int
    lines: tuple[str, ...]
    masked: tuple[str, ...]
    place: tuple[int, int]
    literals: tuple[tuple[int, int], ...] = ()

    @property
    def is_indented(self) -> bool:
        """Whether its code begins indented, which IPython does not mind."""
        code = (line for line in self.masked if line.strip() and not line.lstrip().startswith("#"))
        return next(code, "").startswith((" ", "\t"))


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
    """The Python cells among the cells of a notebook.

    Raises:
        NotebookError: the source of one is no text.
    """
    for number, node in enumerate(nodes, 1):
        fields = node.value if isinstance(node.value, dict) else {}
        kind, source = fields.get("cell_type"), fields.get("source")
        if kind is None or source is None or kind.value != "code" or _is_other_language(fields):
            continue
        yield _cell(number, source)


def _is_other_language(fields: dict[str, Node]) -> bool:
    """Whether an editor has marked a cell as one in another language."""
    metadata = _plain(fields["metadata"]) if "metadata" in fields else None
    marked = metadata.get("vscode") if isinstance(metadata, dict) else None
    return isinstance(marked, dict) and marked.get("languageId", "python") != "python"


def _plain(node: Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(value) for key, value in node.value.items()}
    return node.value


def _cell(number: int, source: Node) -> Cell:
    place = (source.start, source.end)
    if isinstance(source.value, str):
        lines = tuple(source.value.splitlines(keepends=True))
        return Cell(number, lines, masked(lines), place)
    if not isinstance(source.value, list) or not all(isinstance(item.value, str) for item in source.value):
        raise NotebookError(f"the source of cell {number} is no text")
    items = [item.value for item in source.value]
    lines = tuple("".join(items).splitlines(keepends=True))
    whole = list(lines) == items
    literals = tuple((item.start, item.end) for item in source.value) if whole else ()
    return Cell(number, lines, masked(lines), place, literals)
