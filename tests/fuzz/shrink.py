"""Smaller inputs that show the same failure: fewer lines, then fewer words."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from .cases import Case
from .corpus import tokens
from .mutators.lines import split

T = TypeVar("T")
Fails = Callable[[Case], bool]


def smallest(case: Case, fails: Fails, seconds: float) -> Case:
    """A case that fails too, as small as it becomes in so many seconds."""
    until = time.monotonic() + seconds

    def still(data: bytes) -> bool:
        return time.monotonic() < until and fails(replace(case, data=data))

    data = case.data
    if case.is_notebook:
        return replace(case, data=_notebook(data, still))
    size = len(data) + 1
    while len(data) < size:
        size = len(data)
        data = b"".join(_fewer(data.splitlines(keepends=True), lambda kept: still(b"".join(kept))))
        data = _words(data, still)
    return replace(case, data=data)


def _words(data: bytes, still: Callable[[bytes], bool]) -> bytes:
    """Without words that do not matter; every byte is a character here, so that the encoding does not matter either."""
    text = data.decode("latin-1")
    found = tokens(text)
    starts = [0, *(token.start for token in found)]
    pieces = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)])]
    return "".join(_fewer(pieces, lambda kept: still("".join(kept).encode("latin-1")))).encode("latin-1")


def _notebook(data: bytes, still: Callable[[bytes], bool]) -> bytes:
    try:
        document: Any = json.loads(data.decode("utf-8-sig"))
        cells = document["cells"]
    except (ValueError, KeyError, TypeError):
        return data

    def written() -> bytes:
        return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")

    if not still(written()):
        return data

    def with_cells(kept: Sequence[Any]) -> bool:
        document["cells"] = list(kept)
        return still(written())

    document["cells"] = _fewer(cells, with_cells)
    for cell in document["cells"]:
        source = cell.get("source") if isinstance(cell, dict) else None
        lines = split(source) if isinstance(source, str) else source
        if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
            continue

        def with_lines(kept: Sequence[str], cell: dict[str, Any] = cell) -> bool:
            cell["source"] = list(kept)
            return still(written())

        cell["source"] = _fewer(lines, with_lines) if with_lines(lines) else source
    return written()


def _fewer(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """As few of the items as still fail: ever smaller runs of them are left out."""
    kept = list(items)
    size = len(kept) // 2
    while size >= 1:
        at = 0
        while at < len(kept):
            shorter = kept[:at] + kept[at + size :]
            if fails(shorter):
                kept = shorter
            else:
                at += size
        size //= 2
    return kept
