"""Jupyter notebooks (nbformat 4): the Python cells as one module, and an edited module as the same notebook again.

The cells follow each other in one text, parted by a statement that no edit carries along. What only IPython understands is
masked by Python that does nothing. On the way back only the cells that changed are written anew, in them only the lines that
changed; every other byte stays.
"""

from __future__ import annotations

import difflib
import json
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_ONLY_AST = 0x400
"""`ast.PyCF_ONLY_AST`, without the cost of that module."""
_PARTING = "pass  # end of cell {}\n"
PARTING = re.compile(r"pass  # end of cell \d+")
"""The line that parts two cells."""
_PYTHON_MAGICS = frozenset({"time", "timeit", "capture", "prun", "memit", "mprun", "lprun", "snakeviz"})
_ASSIGNED_MAGIC = re.compile(r"(\s*[^\s=#'\"%!?][^=#'\"%!?]*=\s*)([!%][^\n]*)")
_DECODER = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"[^,\]}\s]+")


class NotebookError(ValueError):
    """The text is no notebook; the message is one line."""


class CellsCrossed(ValueError):
    """An edit reaches from one cell into another, or into what only IPython understands; the message is one line."""


@dataclass(frozen=True)
class _Node:
    """A JSON value with its place in the text."""

    value: Any
    start: int
    end: int


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


@dataclass(frozen=True)
class Notebook:
    """A notebook as it was read: its JSON text, and its Python cells."""

    raw: str
    cells: tuple[Cell, ...]

    @classmethod
    def read(cls, raw: str) -> Notebook:
        """Find the Python cells of a notebook.

        Raises:
            NotebookError: it is not valid, or its format is older than 4.
        """
        try:
            document = json.loads(raw)
        except ValueError as error:
            raise NotebookError(f"not valid JSON: {error}") from error
        except RecursionError as error:
            raise NotebookError("nested too deeply to be read") from error
        if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
            older = isinstance(document, dict) and "worksheets" in document
            raise NotebookError("its format is older than nbformat 4" if older else "it has no list of cells")
        if not _speaks_python(document):
            return cls(raw, ())
        return cls(raw, tuple(_cells(raw, _scan(raw, 0).value["cells"].value)))

    @cached_property
    def text(self) -> str:
        """All Python cells as one module."""
        return self._joined(["".join(cell.masked) for cell in self.cells])

    def _joined(self, sources: list[str]) -> str:
        ended = [source if source.endswith("\n") or not source else f"{source}\n" for source in sources]
        parts = [part for cell, source in zip(self.cells, ended) for part in (source, _PARTING.format(cell.number))]
        return "".join(parts[:-1])

    @property
    def numbers(self) -> list[int]:
        """The numbers of its Python cells among all cells, 1-based."""
        return [cell.number for cell in self.cells]

    def edited(self, text: str) -> str:
        """The notebook after its module has become `text`.

        Raises:
            CellsCrossed: the cells cannot be told apart in it any more, or a line for IPython was touched.
        """
        sources = self._parted(text)
        pieces, position = [], 0
        for cell, source in zip(self.cells, sources):
            if _differs(cell, source):
                start, end = cell.place
                pieces += [self.raw[position:start], _rendered(self.raw, cell, source)]
                position = end
        return "".join([*pieces, self.raw[position:]])

    def changes(self, text: str) -> Iterator[tuple[int, str, str]]:
        """The cells that differ after the module has become `text`: number, source before, source after.

        Raises:
            CellsCrossed: as for `edited`.
        """
        for cell, source in zip(self.cells, self._parted(text)):
            if _differs(cell, source):
                yield cell.number, "".join(cell.lines), "".join(line for line, _ in _restored(cell, source))

    def _parted(self, text: str) -> list[str]:
        sources: list[str] = []
        for cell in self.cells[:-1]:
            parting = _PARTING.format(cell.number)
            source, found, text = text.partition(parting)
            if not found:
                raise CellsCrossed(f"the fix reaches beyond cell {cell.number}")
            sources.append(source)
        return [*sources, text]


def _differs(cell: Cell, source: str) -> bool:
    return source.rstrip("\n") != "".join(cell.masked).rstrip("\n")


# -- reading -------------------------------------------------------------------------------------------------------------


def _speaks_python(document: dict[str, Any]) -> bool:
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    named = [metadata.get("language_info"), metadata.get("kernelspec")]
    languages = [
        each.get("name" if index == 0 else "language") for index, each in enumerate(named) if isinstance(each, dict)
    ]
    return all(language is None or str(language).lower().startswith(("python", "ipython")) for language in languages)


def _cells(raw: str, nodes: list[_Node]) -> Iterator[Cell]:
    for number, node in enumerate(nodes, 1):
        fields = node.value if isinstance(node.value, dict) else {}
        kind, source = fields.get("cell_type"), fields.get("source")
        if kind is None or source is None or kind.value != "code" or _is_other_language(fields):
            continue
        cell = _cell(number, source)
        if cell is not None:
            yield cell


def _is_other_language(fields: dict[str, _Node]) -> bool:
    """Whether an editor has marked a cell as one in another language."""
    metadata = _plain(fields["metadata"]) if "metadata" in fields else None
    marked = metadata.get("vscode") if isinstance(metadata, dict) else None
    return isinstance(marked, dict) and marked.get("languageId", "python") != "python"


def _plain(node: _Node) -> Any:
    if isinstance(node.value, dict):
        return {key: _plain(value) for key, value in node.value.items()}
    return node.value


def _cell(number: int, source: _Node) -> Cell | None:
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


# -- places in JSON ------------------------------------------------------------------------------------------------------


def _scan(raw: str, start: int) -> _Node:
    """A value of a valid JSON text, with the places of all values in it."""
    start = _skip(raw, start)
    opening = raw[start]
    if opening == '"':
        value, end = _DECODER.raw_decode(raw, start)
        return _Node(value, start, end)
    if opening == "[":
        items: list[_Node] = []
        end = _skip(raw, start + 1)
        while raw[end] != "]":
            items.append(_scan(raw, end))
            end = _skip(raw, items[-1].end)
            end = _skip(raw, end + 1) if raw[end] == "," else end
        return _Node(items, start, end + 1)
    if opening == "{":
        fields: dict[str, _Node] = {}
        end = _skip(raw, start + 1)
        while raw[end] != "}":
            key = _scan(raw, end)
            fields[key.value] = _scan(raw, _skip(raw, key.end) + 1)
            end = _skip(raw, fields[key.value].end)
            end = _skip(raw, end + 1) if raw[end] == "," else end
        return _Node(fields, start, end + 1)
    match = _SCALAR.match(raw, start)
    assert match is not None
    return _Node(None, start, match.end())


def _skip(raw: str, position: int) -> int:
    match = _BLANK.match(raw, position)
    assert match is not None
    return match.end()


# -- writing -------------------------------------------------------------------------------------------------------------


def _rendered(raw: str, cell: Cell, source: str) -> str:
    """The JSON of an edited cell's source, laid out as it was."""
    lines = _restored(cell, source)
    ascii_only = raw.isascii() and "\\u" in raw
    start, end = cell.place
    if raw[start] == '"':
        return json.dumps("".join(line for line, _ in lines), ensure_ascii=ascii_only)
    strings = [
        raw[slice(*cell.literals[index])]
        if cell.literals and index is not None and cell.lines[index] == line
        else json.dumps(line, ensure_ascii=ascii_only)
        for line, index in lines
    ]
    before, between, after = _layout(raw, cell)
    return f"[{before}{f',{between}'.join(strings)}{after}]"


def _restored(cell: Cell, source: str) -> list[tuple[str, int | None]]:
    """The lines of an edited cell, with their number before where they were there; what was masked is itself again.

    Raises:
        CellsCrossed: a masked line was changed.
    """
    ended = [line if line.endswith("\n") else f"{line}\n" for line in cell.masked]
    new = source.splitlines(keepends=True)
    found: list[tuple[str, int | None]] = []
    kept: set[int] = set()
    for tag, old_start, old_end, start, end in difflib.SequenceMatcher(None, ended, new, autojunk=False).get_opcodes():
        if tag == "equal":
            kept.update(range(old_start, old_end))
            found += [(cell.lines[index], index) for index in range(old_start, old_end)]
        else:
            found += [(line, None) for line in new[start:end]]
    if any(cell.lines[index] != cell.masked[index] for index in range(len(cell.lines)) if index not in kept):
        raise CellsCrossed(f"the fix touches a line of cell {cell.number} that only IPython understands")
    last = len(cell.lines) - 1
    lines = [(f"{line}\n" if index == last and not line.endswith("\n") else line, index) for line, index in found]
    if lines and not cell.lines[-1].endswith("\n"):
        lines[-1] = (lines[-1][0].removesuffix("\n"), lines[-1][1])
    return lines


def _layout(raw: str, cell: Cell) -> tuple[str, str, str]:
    """The white space after `[`, between two lines, and before `]`."""
    items = _scan(raw, cell.place[0]).value
    if not items:
        return "", " ", ""
    before = raw[cell.place[0] + 1 : items[0].start]
    between = raw[items[0].end : items[1].start].partition(",")[2] if len(items) > 1 else before or " "
    return before, between, raw[items[-1].end : cell.place[1] - 1]
