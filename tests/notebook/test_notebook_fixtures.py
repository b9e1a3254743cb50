"""Every notebook of tests/notebooks says what must be found in it; amplint keeps the same promises on each of them.

`pytest tests/notebook/test_notebook_fixtures.py --write-fixed -k recipe` writes what the fixes make of the selected notebooks.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from notebook_harness import (
    LAYOUTS,
    Document,
    Found,
    Layout,
    NotebookFixture,
    all_notebooks,
    amplint,
    code_cells,
    read,
    records,
)
from pyflakes import checker, messages

from amplint.notebook import Notebook
from amplint.python_ast.gate import parse

NOTEBOOKS = all_notebooks()
FLAGGED = [each for each in NOTEBOOKS if each.flagged]
FIXABLE = [each for each in FLAGGED if each.fixable]
each_notebook = pytest.mark.parametrize("notebook", NOTEBOOKS, ids=str)
each_flagged = pytest.mark.parametrize("notebook", FLAGGED, ids=str)
each_fixable = pytest.mark.parametrize("notebook", FIXABLE, ids=str)
each_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=str)


def copied(notebook: NotebookFixture, folder: Path) -> Path:
    """A copy that may be changed."""
    path = folder / notebook.path.name
    path.write_bytes(notebook.data)
    return path


# What is found.


@each_notebook
def test_findings_are_those_marked(notebook: NotebookFixture) -> None:
    assert Counter(map(Found.of, records(notebook.path))) == notebook.expected
    assert bool(notebook.expected) is notebook.flagged


def test_there_are_enough_of_both_kinds() -> None:
    assert len(FLAGGED) >= 10 and len(NOTEBOOKS) - len(FLAGGED) >= 5
    assert {path.name for path in NOTEBOOKS[0].path.parent.iterdir()} == {
        path.name for each in NOTEBOOKS for path in (each.path, *([each.fixed_path] if each.fixable else []))
    }


@each_layout
def test_findings_do_not_depend_on_the_layout(layout: Layout, tmp_path: Path) -> None:
    for notebook in NOTEBOOKS:
        (tmp_path / notebook.path.name).write_bytes(layout.write(notebook.document))
    found = Counter((Path(each["filename"]).name, Found.of(each)) for each in records(tmp_path))
    assert found == Counter((each.path.name, mark) for each in NOTEBOOKS for mark in each.expected.elements())


@each_flagged
def test_the_cells_as_one_file_have_the_same_findings(notebook: NotebookFixture, tmp_path: Path) -> None:
    if b"%" in notebook.data or b"!" in notebook.data:
        return  # what only IPython understands is no Python
    text, starts = "", {}
    for number, cell in code_cells(notebook.document).items():
        starts[number] = text.count("\n")
        text += f"{cell}\n"
    path = tmp_path / "cells.py"
    path.write_text(text, encoding="utf-8")
    found = Counter((each["location"]["row"], each["code"]) for each in records(path))
    assert found == Counter((starts[mark.cell] + mark.row, mark.code) for mark in notebook.expected)


# Where it is said to be.


def between(cells: dict[int, str], record: dict[str, dict[str, int]], number: int) -> str:
    """The text of a cell between two places of the JSON report."""
    lines = cells[number].splitlines(keepends=True)
    start, end = record["location"], record["end_location"]
    rows = [*lines[start["row"] - 1 : end["row"] - 1], lines[end["row"] - 1][: end["column"] - 1]]
    rows[0] = rows[0][start["column"] - 1 :]
    return "".join(rows)


@each_flagged
def test_places_in_cells_hold_what_the_finding_speaks_of(notebook: NotebookFixture) -> None:
    cells = code_cells(notebook.document)
    module = Notebook.read(notebook.data.decode("utf-8-sig")).text
    for record in records(notebook.path):
        for place in (record, *record["related"]):
            text = between(cells, place, place["cell"])
            assert text and text in module
        line = cells[record["cell"]].splitlines()[record["location"]["row"] - 1]
        assert record["noqa_row"] == record["location"]["row"]
        assert between(cells, record, record["cell"]).splitlines()[0] in line


@each_fixable
def test_edits_of_the_report_made_in_the_cells_are_the_fix(notebook: NotebookFixture, tmp_path: Path) -> None:
    (first, *rest) = (each for each in records("--unsafe-fixes", notebook.path) if Found.of(each).fixable)
    if rest:
        return  # together they share edits
    cells = code_cells(notebook.document)
    for edit in reversed(first["fix"]["edits"]):
        lines = [*cells[edit["cell"]].splitlines(keepends=True), ""]
        starts = [sum(map(len, lines[:index])) for index in range(len(lines))]
        start, end = (starts[edit[key]["row"] - 1] + edit[key]["column"] - 1 for key in ("location", "end_location"))
        text = cells[edit["cell"]]
        cells[edit["cell"]] = text[:start] + edit["content"] + text[end:]
    after = code_cells(read(notebook.fixed_path.read_bytes()))
    # In the module every cell ends in a line end; in the notebook, as it did.
    assert {number: text.rstrip("\n") for number, text in cells.items()} == {
        number: text.rstrip("\n") for number, text in after.items()
    }


@each_flagged
def test_every_format_names_the_cell(notebook: NotebookFixture) -> None:
    places = {
        f"{each['cell']}:{each['location']['row']}:{each['location']['column']}" for each in records(notebook.path)
    }
    for form in ("concise", "full", "github"):
        run = amplint("--output-format", form, "--color", "never", notebook.path)
        assert set(re.findall(r"\.ipynb:cell (\d+:\d+:\d+)", run.stdout)) >= places
        assert run.exit_code == 1


# What the fixes make of it.


@each_flagged
def test_fixes_make_the_fixed_file(notebook: NotebookFixture, tmp_path: Path, write_fixed: bool) -> None:
    path = copied(notebook, tmp_path)
    run = amplint("--fix", "--unsafe-fixes", path)
    if write_fixed and notebook.fixable:
        notebook.fixed_path.write_bytes(path.read_bytes())
    if not notebook.fixable:
        assert path.read_bytes() == notebook.data
        return
    assert path.read_bytes() == notebook.fixed_path.read_bytes(), run.stderr
    remaining = {mark for mark in notebook.expected if not mark.fixable}
    assert run.exit_code == bool(remaining)
    again = amplint("--fix", "--unsafe-fixes", path)
    assert path.read_bytes() == notebook.fixed_path.read_bytes() and "ixed" not in again.stderr


@each_fixable
def test_safe_fixes_alone_leave_the_rest(notebook: NotebookFixture, tmp_path: Path) -> None:
    path = copied(notebook, tmp_path)
    amplint("--fix", path)
    safe = any(mark.applicability == "safe" for mark in notebook.expected)
    assert (path.read_bytes() != notebook.data) is safe
    assert all(each["fix"] is None or each["fix"]["applicability"] != "safe" for each in records(path))


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^"]')


@each_fixable
def test_no_byte_changes_but_those_of_lines_that_are_meant(notebook: NotebookFixture) -> None:
    before, after = notebook.document, read(notebook.fixed_path.read_bytes())
    meant: set[str] = set()
    for old, new in zip(code_cells(before).values(), code_cells(after).values()):
        lines = difflib.ndiff(old.splitlines(keepends=True), new.splitlines(keepends=True))
        meant.update(line[2:] for line in lines if line[0] in "+-")
        meant.update([old, new] if old != new else [])  # a source in one string is written anew as a whole
    assert bare(before) == bare(after), "something else than sources changed"
    left, right = (_TOKEN.findall(each.decode()) for each in (notebook.data, notebook.fixed_path.read_bytes()))
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        for token in [*left[start:end], *right[new_start:new_end]] if tag != "equal" else ():
            if token.startswith('"'):
                assert json.loads(token) in meant
            else:
                assert token in ", \t\r\n"


def bare(document: Document) -> str:
    """A notebook without its sources, keys in their order."""
    cells = [{key: value for key, value in cell.items() if key != "source"} for cell in document["cells"]]
    return json.dumps({**document, "cells": cells})


@each_layout
def test_fixes_keep_every_layout(layout: Layout, tmp_path: Path) -> None:
    for notebook in FIXABLE:
        copied(notebook, tmp_path).write_bytes(layout.write(notebook.document))
    amplint("--fix", "--unsafe-fixes", tmp_path)
    for notebook in FIXABLE:
        wanted = layout.write(read(notebook.fixed_path.read_bytes()))
        assert (tmp_path / notebook.path.name).read_bytes() == wanted, str(notebook)


def complaints(document: Document) -> Counter[tuple[str, ...]]:
    """What pyflakes says about the names of a notebook: unbound, imported in vain."""
    module = Notebook.read(json.dumps(document)).text
    kinds = (messages.UndefinedName, messages.UndefinedLocal, messages.UnusedImport)
    said = checker.Checker(parse(module), "cells").messages
    return Counter((type(each).__name__, str(each.message_args[0])) for each in said if isinstance(each, kinds))


@each_fixable
def test_fixes_bind_their_names_and_keep_comments(notebook: NotebookFixture) -> None:
    after = read(notebook.fixed_path.read_bytes())
    assert not complaints(after) - complaints(notebook.document)
    marks = [re.findall(r"# .*", "\n".join(code_cells(each).values())) for each in (notebook.document, after)]
    assert not Counter(marks[0]) - Counter(marks[1])


@each_fixable
def test_a_diff_shows_the_lines_of_each_cell_and_writes_nothing(notebook: NotebookFixture, tmp_path: Path) -> None:
    path = copied(notebook, tmp_path)
    shown = amplint("--diff", "--unsafe-fixes", "--color", "never", path).stdout
    assert path.read_bytes() == notebook.data
    before, after = code_cells(notebook.document), code_cells(read(notebook.fixed_path.read_bytes()))
    changed = [number for number in before if before[number] != after[number]]
    parts = re.split(r"^--- .*:cell (\d+)\n\+\+\+ .*\n", shown, flags=re.MULTILINE)
    assert [int(number) for number in parts[1::2]] == changed
    for number, part in zip(changed, parts[2::2]):
        old, new = (cells[number].splitlines(keepends=True) for cells in (before, after))
        wanted = [line.rstrip("\n") for line in difflib.unified_diff(old, new) if line[0] in "+-"][2:]
        assert [line for line in part.splitlines() if line[0] in "+-"] == wanted


# Suppression.


def with_comment(document: Document, number: int, row: int, comment: str) -> Document:
    """The notebook with a comment at the end of one line."""
    copy: Document = json.loads(json.dumps(document))
    lines = code_cells(copy)[number].split("\n")
    lines[row - 1] += comment
    copy["cells"][number - 1]["source"] = "\n".join(lines).splitlines(keepends=True)
    return copy


def places(notebook: NotebookFixture) -> Iterator[Found]:
    yield from sorted(set(notebook.expected))


@each_flagged
def test_a_comment_silences_its_line_and_no_other(notebook: NotebookFixture, tmp_path: Path) -> None:
    for index, mark in enumerate(places(notebook)):
        path = tmp_path / f"{index}.ipynb"
        path.write_text(json.dumps(with_comment(notebook.document, mark.cell, mark.row, f"  # noqa: {mark.code}")))
        left = {(each.cell, each.row, each.code) for each in map(Found.of, records(path))}
        assert left == {(each.cell, each.row, each.code) for each in notebook.expected} - {mark[:3]}


@each_notebook
def test_a_comment_in_vain_is_a_finding_in_its_cell(notebook: NotebookFixture, tmp_path: Path) -> None:
    cells = code_cells(notebook.document)
    number = next(number for number, text in cells.items() if re.search("^import torch$", text, re.MULTILINE))
    row = cells[number].split("\n").index("import torch") + 1
    path = tmp_path / "vain.ipynb"
    layout = LAYOUTS[0]
    path.write_bytes(layout.write(with_comment(notebook.document, number, row, "  # noqa: AMP110")))
    assert (number, row, "AMP901") in {(each.cell, each.row, each.code) for each in map(Found.of, records(path))}
    amplint("--fix", "--select", "AMP901,AMP110", path)
    assert path.read_bytes() == layout.write(notebook.document)
