"""Jupyter notebooks (nbformat 4): the Python cells as one module, and an edited module as the same notebook again.

The cells follow each other in one text, parted by a statement that no edit carries along. What only IPython understands is
masked by Python that does nothing. On the way back only the cells that changed are written anew, in them only the lines that
changed; every other byte stays.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cached_property

from amplint.model.records import frozen
from amplint.notebook.cells import Cell, NotebookError, cells, speaks_python
from amplint.notebook.magics import muted
from amplint.notebook.places import scan
from amplint.notebook.writing import CellsCrossed, differs, rendered, unmasked_lines

__all__ = ["PARTING", "CellsCrossed", "Notebook", "NotebookError"]

_HALF = re.compile("[\ud800-\udfff]")
_PARTING, _OPENING = "pass  # end of cell {}\n", "if True:  # end of cell {}\n"
PARTING = re.compile(r"(?:pass|if True:)  # end of cell \d+")
"""The line that parts two cells; IPython takes off the indent of a whole cell, which here stands under a condition."""


@frozen
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
            if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
                older = isinstance(document, dict) and "worksheets" in document
                raise NotebookError("its format is older than nbformat 4" if older else "it has no list of cells")
            found = tuple(cells(scan(raw, 0).value["cells"].value)) if speaks_python(document) else ()
        except NotebookError:
            raise
        except ValueError as error:  # no JSON, or a number of 5,000 digits
            raise NotebookError(f"not valid JSON: {error}") from error
        except RecursionError as error:
            raise NotebookError("nested too deeply to be read") from error
        for cell in found:
            if _HALF.search("".join(cell.lines)):
                raise NotebookError(f"cell {cell.number} holds half a surrogate pair")
        if found and found[0].is_indented:  # no line before it could open a block
            found = (replace(found[0], masked=muted(found[0].lines)), *found[1:])
        return cls(raw, found)

    @cached_property
    def text(self) -> str:
        """All Python cells as one module."""
        return self._joined(["".join(cell.masked) for cell in self.cells])

    def _joined(self, sources: list[str]) -> str:
        ended = [source if source.endswith("\n") or not source else f"{source}\n" for source in sources]
        return "".join(part for pair in zip(ended, [*self._partings, ""]) for part in pair)

    @cached_property
    def _partings(self) -> list[str]:
        return [
            (_OPENING if following.is_indented else _PARTING).format(cell.number)
            for cell, following in zip(self.cells, self.cells[1:])
        ]

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
            if differs(cell, source):
                start, end = cell.place
                pieces += [self.raw[position:start], rendered(self.raw, cell, source)]
                position = end
        return "".join([*pieces, self.raw[position:]])

    def written(self, text: str) -> list[str]:
        """The sources of the cells after the module has become `text`, with the lines for IPython as they were written.

        Raises:
            CellsCrossed: as for `edited`.
        """
        return [
            "".join(line for line, _ in unmasked_lines(cell, source))
            for cell, source in zip(self.cells, self._parted(text))
        ]

    def unmasked(self, text: str) -> str:
        """The module text with the lines for IPython as they were written.

        Raises:
            CellsCrossed: as for `edited`.
        """
        return self._joined(self.written(text))

    def line_in_file(self, cell: int, row: int) -> int:
        """The line of the JSON text in which a row of a cell begins; where its source is one string, that line.

        Args:
            cell: the number of a Python cell among all cells, 1-based.
            row: a row of its source, 1-based.
        """
        found = next(one for one in self.cells if one.number == cell)
        start = found.literals[row - 1][0] if row <= len(found.literals) else found.place[0]
        return self.raw.count("\n", 0, start) + 1

    def _parted(self, text: str) -> list[str]:
        sources: list[str] = []
        for cell, parting in zip(self.cells, self._partings):
            source, found, text = text.partition(parting)
            if not found:
                raise CellsCrossed(f"the fix reaches beyond cell {cell.number}")
            sources.append(source)
        return [*sources, text]
