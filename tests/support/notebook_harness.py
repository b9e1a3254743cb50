"""Notebook fixtures: real `.ipynb` files whose comments say what amplint must find in them, read without amplint's own reader.

The marks are those of the `.py` fixtures, `# expect: AMP101 safe`; `flagged_<shape>.fixed.ipynb` is what all fixes make of one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner, Result

from amplint.cli.main import main

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
_EXPECT = re.compile(r"# expect: (.+?)\s*$")

Document = dict[str, Any]


class Found(NamedTuple):
    """One finding: where, what, and how far its fix may be trusted."""

    cell: int
    row: int
    code: str
    applicability: str

    @classmethod
    def of(cls, record: dict[str, Any]) -> Found:
        """A finding of the JSON report."""
        fix = record["fix"]
        return cls(record["cell"], record["location"]["row"], record["code"], fix["applicability"] if fix else "none")

    @property
    def fixable(self) -> bool:
        """Whether `--fix --unsafe-fixes` repairs it."""
        return self.applicability in ("safe", "unsafe")


@dataclass(frozen=True)
class Layout:
    """A way to write a notebook down."""

    name: str
    indent: int | str | None = 1
    separators: tuple[str, str] | None = None
    ascii: bool = False
    whole: bool = False
    """Each source is one string."""
    newline: str = "\n"
    final: str = "\n"
    mark: bytes = b""

    def __str__(self) -> str:
        return self.name

    def write(self, document: Document) -> bytes:
        """A notebook in this layout."""
        copy = json.loads(json.dumps(document))
        for cell in copy["cells"]:
            text = source(cell)
            cell["source"] = text if self.whole else text.splitlines(keepends=True)
        text = json.dumps(copy, indent=self.indent, separators=self.separators, ensure_ascii=self.ascii) + self.final
        return self.mark + text.replace("\n", self.newline).encode()


LAYOUTS = (
    Layout("as Jupyter writes it"),
    Layout("as VS Code writes it, no final newline", final=""),
    Layout("as Colab writes it", indent=2, final=""),
    Layout("two spaces, one string, escapes", indent=2, ascii=True, whole=True),
    Layout("tabs", indent="\t"),
    Layout("no indent", indent=0, whole=True),
    Layout("one line", indent=None),
    Layout("one line, packed, escapes", indent=None, separators=(",", ":"), ascii=True, whole=True, final=""),
    Layout("carriage returns", newline="\r\n"),
    Layout("byte order mark", mark=b"\xef\xbb\xbf"),
)


def source(cell: dict[str, Any]) -> str:
    """The text of a cell."""
    return "".join(cell["source"])


def code_cells(document: Document) -> dict[int, str]:
    """The texts of the code cells by their numbers."""
    return {n: source(cell) for n, cell in enumerate(document["cells"], 1) if cell["cell_type"] == "code"}


@dataclass(frozen=True)
class NotebookFixture:
    """One fixture file, `flagged_<shape>.ipynb` or `clean_<shape>.ipynb`."""

    path: Path

    def __str__(self) -> str:
        return self.path.stem

    @property
    def flagged(self) -> bool:
        """Whether something must be found in it."""
        return self.path.name.startswith("flagged_")

    @property
    def fixed_path(self) -> Path:
        """What all fixes make of it."""
        return self.path.with_suffix(".fixed.ipynb")

    @cached_property
    def data(self) -> bytes:
        """The file as it is."""
        return self.path.read_bytes()

    @cached_property
    def document(self) -> Document:
        """The notebook."""
        return read(self.data)

    @cached_property
    def expected(self) -> Counter[Found]:
        """What its marks say."""
        return Counter(self._marks())

    def _marks(self) -> Iterator[Found]:
        for number, text in code_cells(self.document).items():
            for row, line in enumerate(text.splitlines(), 1):
                mark = _EXPECT.search(line)
                for item in mark[1].split(", ") if mark else ():
                    code, applicability = item.split(" ")
                    yield Found(number, row, code, applicability)

    @property
    def fixable(self) -> bool:
        """Whether fixes change it."""
        return any(each.fixable for each in self.expected)


def read(data: bytes) -> Document:
    """A notebook from its bytes."""
    document: Document = json.loads(data.decode("utf-8-sig"))
    return document


def all_notebooks() -> list[NotebookFixture]:
    """Every fixture."""
    paths = sorted(NOTEBOOKS.glob("*.ipynb"))
    return [NotebookFixture(path) for path in paths if not path.name.endswith(".fixed.ipynb")]


def amplint(*arguments: object, text: bytes | None = None) -> Result:
    """A run of `amplint check` that looks at no configuration and no cache."""
    command = ["check", "--isolated", "--no-cache", "--jobs", "1", *map(str, arguments)]
    return CliRunner().invoke(main, command, input=text, catch_exceptions=False)


def records(*arguments: object) -> list[dict[str, Any]]:
    """The findings of a run as the JSON report tells them."""
    run = amplint("--output-format", "jsonl", *arguments)
    assert run.exit_code in (0, 1), run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


# Notebooks made for one test.

SETUP = """\
%matplotlib inline
!pip install -q torch
import torch
files = !ls -la
model = torch.nn.Linear(8, 8).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")"""
TRAIN = """\
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # é
    scaler.step(optimizer)
    scaler.update()
"""


def cell(source: str, kind: str = "code", whole: bool = False, **metadata: Any) -> dict[str, Any]:
    lines: str | list[str] = source if whole else source.splitlines(keepends=True)
    extra = {"execution_count": 3, "outputs": [{"text": ["loss 1e5\n"]}]} if kind == "code" else {}
    return {"cell_type": kind, **extra, "metadata": metadata, "source": lines}


def notebook(*cells: dict[str, Any], language: str = "python", **dumping: Any) -> str:
    metadata = {"kernelspec": {"name": "k", "language": language}, "language_info": {"name": language}}
    document = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, **{"indent": 1, "ensure_ascii": False, **dumping}) + "\n"


TWO_CELLS = notebook(cell("# Title", "markdown"), cell(SETUP), cell("Some words", "raw"), cell(TRAIN))


def fixed(tmp_path: Path, text: str) -> str:
    """What the safe fixes make of a notebook."""
    path = tmp_path / "nb.ipynb"
    path.write_bytes(text.encode())
    CliRunner().invoke(main, ["check", "--fix", "--isolated", "--no-cache", str(path)])
    return path.read_bytes().decode()
