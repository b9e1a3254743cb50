"""Notebooks: programs split into cells, real notebooks with changed cells, magics in between, odd JSON."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from .corpus import Corpus
from .mutators import mutated
from .mutators.lines import indent_of, split

MAGICS = r"""
%matplotlib inline

!pip install -q torch

!ls \
  -la

%%time

%time x = 1

files = !ls

?scaler

scaler.step??

%%bash
echo $HOME

%autoreload 2

    %env A=1

%timeit -n 3 scaler.update()

!echo {scaler} '''

%%capture out

%sql select 1

a = %who

%

!

?

%%

%lsmagic;

!!ls
""".strip("\n").split("\n\n")
_METADATA: tuple[Any, ...] = (
    {},
    {"tags": ["x"]},
    {"vscode": {"languageId": "python"}},
    {"vscode": {"languageId": "sql"}},
    {"vscode": 3},
    None,
    [],
)


def split_into_cells(random: Random, text: str) -> dict[str, Any]:
    """A notebook of a program: most cuts are between statements, some anywhere."""
    lines = split(text)
    cells: list[dict[str, Any]] = []
    cell: list[str] = []
    anywhere = random.random() < 0.2
    for line in lines:
        if cell and (anywhere or not indent_of(line) and line.strip()) and random.random() < 0.25:
            cells.append(_cell(random, "".join(cell)))
            cell = []
        cell.append(line)
    cells.append(_cell(random, "".join(cell)))
    return {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}


def _cell(random: Random, text: str, kind: str = "code") -> dict[str, Any]:
    source: Any = text.splitlines(keepends=True) if random.random() < 0.8 else text
    if isinstance(source, list) and source and random.random() < 0.6:
        source[-1] = source[-1].rstrip("\n")  # as Jupyter writes it
    more = {"execution_count": 1, "outputs": [{"text": ["scaler.step(optimizer)\n"]}]} if kind == "code" else {}
    return {"cell_type": kind, **more, "metadata": random.choice(_METADATA[:2]), "source": source}


def _magic(random: Random, document: Any, corpus: Corpus) -> None:
    cell = random.choice(document["cells"])
    lines = split(source(cell))
    lines.insert(random.choice((0, random.randrange(len(lines) + 1))), f"{random.choice(MAGICS)}\n")
    cell["source"] = lines


def _program(random: Random, document: Any, corpus: Corpus) -> None:
    cell = random.choice([cell for cell in document["cells"] if cell.get("cell_type") == "code"] or document["cells"])
    cell["source"] = split(mutated(random, source(cell), corpus)[0])


def _cells(random: Random, document: Any, corpus: Corpus) -> None:
    cells = document["cells"]
    at = random.randrange(len(cells))
    match random.randrange(5):
        case 0 if len(cells) > 1:
            del cells[at]
        case 1:
            cells.insert(at, cells[random.randrange(len(cells))])
        case 2:
            cells.insert(at, _cell(random, "scaler.step(optimizer)\n", random.choice(("markdown", "raw", "code"))))
        case 3:
            cells.insert(at, _cell(random, ""))
        case _:
            random.shuffle(cells)


def _strange(random: Random, document: Any, corpus: Corpus) -> None:
    cell = random.choice(document["cells"])
    match random.randrange(7):
        case 0:
            cell["source"] = random.choice(
                (None, 3, [1], {}, [], "", [""], ["a", "b"], ["x = 1\r\n", "y"], ["scaler\u2028= 1\x0c"], "\ud800")
            )
        case 1:
            cell["metadata"] = random.choice(_METADATA)
        case 2:
            cell["cell_type"] = random.choice((None, "Code", "code ", 3, "markdown"))
        case 3:
            document["metadata"] = random.choice(
                (
                    None,
                    [],
                    {},
                    {"kernelspec": {"language": "R"}},
                    {"language_info": {"name": 3}},
                    {"kernelspec": {"language": "Python"}},
                )
            )
        case 4:
            document["cells"].insert(0, random.choice((None, [], 3, {}, "code")))
        case 5:
            document["nbformat"] = random.choice((3, "4", None, 99))
        case _:
            cell["attachments"] = {"a": {"cells": [{"source": "scaler"}]}, "source": ["x"]}


_CHANGES = (_magic, _magic, _program, _program, _program, _cells, _strange)


def notebook(random: Random, corpus: Corpus) -> tuple[bytes, list[str]]:
    """The bytes of a notebook, and how it was made."""
    document: Any
    if random.random() < 0.5:
        text, used = mutated(random, corpus.text(random), corpus)
        document, used = split_into_cells(random, text), [*used, "notebooks.split"]
    else:
        document, used = json.loads(corpus.notebook(random)), ["notebooks.real"]
    for _ in range(random.choice((0, 1, 2, 3))):
        change = random.choice(_CHANGES)
        try:
            change(random, document, corpus)
        except (TypeError, KeyError, AttributeError, IndexError):
            break  # an earlier change left nothing to change here
        used.append(f"notebooks.{change.__name__.lstrip('_')}")
    return _written(random, document), used


def source(cell: Any) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def _written(random: Random, document: Any) -> bytes:
    indent = random.choice((1, 1, 2, None, "\t", 0))
    separators = (",", ":") if random.random() < 0.2 else None
    text = json.dumps(
        document, indent=indent, separators=separators, ensure_ascii=random.random() < 0.5
    ) + random.choice(("\n", "\n", ""))
    if random.random() < 0.1:
        text = text.replace("\n", "\r\n")
    if random.random() < 0.05:
        at = random.randrange(len(text))
        text = (
            text[:at]
            + random.choice(("", "}", '"', ",", "\\u0041", " ", "NaN", "é"))
            + text[at + random.randrange(2) :]
        )
    return (b"\xef\xbb\xbf" if random.random() < 0.1 else b"") + text.encode("utf-8", "replace")
