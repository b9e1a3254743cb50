"""What inputs are made of: training files, the words in them, and notebooks."""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import NamedTuple

from amplint.python_ast.gate import may_matter

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 30_000
"""Longer files would cost more time than they are worth."""
AMP = re.compile(r"scal|autocast|optim|backward|half|float16")
"""In lines that speak of mixed precision."""

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\r\n]*)
    | (?P<string>[rbfutRBFUT]{0,2}(?:\"{3}[\s\S]*?\"{3}|'{3}[\s\S]*?'{3}|"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*'))
    | (?P<number>\d[\w.]*)
    | (?P<name>[^\W\d]\w*)
    | (?P<op>\*\*=?|//=?|<<=?|>>=?|->|:=|[-+*/%@&|^<>=!]=|[^\w\s])""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """A word of a program, which may be broken: what it is, and where."""

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """The words of a text, however broken it is."""
    found = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "op"
        if kind == "name" and keyword.iskeyword(match.group()):
            kind = "keyword"
        found.append(Token(kind, match.group(), match.start(), match.end()))
    return found


@dataclass(frozen=True)
class Corpus:
    """Programs and notebooks, in pools from which they are drawn with equal chances."""

    pools: tuple[tuple[str, ...], ...]
    notebooks: tuple[str, ...]

    def text(self, random: Random) -> str:
        """One program."""
        return random.choice(random.choice(self.pools))

    def notebook(self, random: Random) -> str:
        """The JSON of one notebook."""
        return random.choice(self.notebooks)

    def word(self, random: Random, kind: str) -> str:
        """A word of this kind."""
        return random.choice(self._words.get(kind) or ("x",))

    def line(self, random: Random) -> str:
        """A line of a program, with its indent; most often one that speaks of mixed precision."""
        return random.choice(self._amp_lines if random.random() < 0.7 else self._lines)

    @cached_property
    def _words(self) -> dict[str, tuple[str, ...]]:
        words: dict[str, list[str]] = {}
        for text in self._sample:
            for token in tokens(text):
                words.setdefault(token.kind, []).append(token.text)
        return {kind: tuple(found) for kind, found in words.items()}

    @cached_property
    def _lines(self) -> tuple[str, ...]:
        return tuple(line for text in self._sample for line in text.splitlines() if line.strip())

    @cached_property
    def _amp_lines(self) -> tuple[str, ...]:
        return tuple(filter(AMP.search, self._lines))

    @cached_property
    def _sample(self) -> tuple[str, ...]:
        return tuple(text for pool in self.pools for text in pool[:: max(1, len(pool) // 300)])


def read(folders: Sequence[Path] = (), programs: Sequence[str] = ()) -> Corpus:
    """The fixtures, the notebooks of the tests, generated programs, and the training files below some folders."""
    fixtures = tuple(_texts(sorted((ROOT / "fixtures").glob("*/*.py"))))
    notebooks = list(_texts(sorted((ROOT / "tests" / "notebooks").glob("*.ipynb"))))
    found: list[str] = []
    for folder in folders:
        found += _texts(sorted(folder.rglob("*.py")))
        notebooks += _texts(sorted(folder.rglob("*.ipynb")))
    return Corpus(tuple(filter(None, (fixtures, tuple(programs), tuple(found)))), tuple(notebooks))


def _texts(paths: Sequence[Path]) -> Iterator[str]:
    for path in paths:
        if not path.is_file() or path.stat().st_size > LONGEST:
            continue
        data = path.read_bytes()
        if not may_matter(data):
            continue
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
            yield data.decode(encoding).replace("\r\n", "\n")
        except (SyntaxError, UnicodeDecodeError):
            continue
