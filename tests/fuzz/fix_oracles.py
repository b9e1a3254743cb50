"""What must hold for the fixes of every input."""

from __future__ import annotations

import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from pyflakes import checker, messages

from amplint.engine.fixed_text import apply, compiles
from amplint.engine.fixer import FixOutcome, fix_source
from amplint.python_ast.gate import parse
from amplint.report import diff
from amplint.source import Source

from .examined import Examined, parses


def settles(examined: Examined) -> Iterator[str]:
    """Fixes come to an end, none is left out, and a second run changes nothing."""
    for unsafe, outcome in _outcomes(examined):
        if re.search("never settle|after the fixes of|would break", outcome.error):
            yield f"{outcome.error[:100]}: unsafe={unsafe}"
        if outcome.applied:
            assert examined.source is not None
            again = fix_source(replace(examined.source, text=outcome.text), examined.lint, unsafe)
            if again.text != outcome.text or again.applied:
                yield f"{codes(again.applied)}: a second run changes the file again (unsafe={unsafe})"


def stays_python(examined: Examined) -> Iterator[str]:
    """What parsed parses, what compiled compiles."""
    for unsafe, outcome in _outcomes(examined):
        assert examined.source is not None
        before = examined.source.text
        if outcome.text != before and (not parses(outcome.text) or compiles(before) and not compiles(outcome.text)):
            yield f"{codes(outcome.applied)}: no longer compiles (unsafe={unsafe})"


def names(examined: Examined) -> Iterator[str]:
    """Every name is bound that was bound before."""
    for unsafe, outcome in _outcomes(examined):
        assert examined.source is not None
        if outcome.applied and parses(outcome.text):
            new = _unbound(outcome.text) - _unbound(examined.source.text)
            if new:
                yield f"{codes(outcome.applied)}: unbound {', '.join(sorted(new))} (unsafe={unsafe})"


def _unbound(text: str) -> set[str]:
    kinds = (messages.UndefinedName, messages.UndefinedLocal, messages.ImportStarUsage)
    try:
        said = checker.Checker(parse(text), "input.py").messages
    except (
        AssertionError,
        RecursionError,
    ):  # pyflakes gives up on a future import in the wrong place, and on deep nesting
        return set()
    return {str(each.message_args[0]) for each in said if isinstance(each, kinds)}


def comments(examined: Examined) -> Iterator[str]:
    """No comment is lost, but for suppressions that suppress nothing."""
    for unsafe, outcome in _outcomes(examined):
        assert examined.source is not None
        if outcome.applied and parses(outcome.text):
            lost = Counter(_comments(examined.source.text)) - Counter(_comments(outcome.text))
            if lost:
                yield f"{codes(outcome.applied)}: lost {sorted(lost)} (unsafe={unsafe})"


def _comments(text: str) -> list[str]:
    lines = iter(re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text))
    found = []
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "").replace("\r\n", "\n").replace("\r", "\n")):
            if token.type == tokenize.COMMENT and not re.search("noqa|amplint", token.string, re.IGNORECASE):
                found.append(token.string.rstrip())
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def bytes_stay(examined: Examined) -> Iterator[str]:
    """A fix changes the bytes between its first edit and its last, keeps the encoding, and brings no other line ends."""
    source = examined.source
    if source is None or not examined.fixable:
        return
    for one in examined.report.diagnostics:
        if one.fix and one.fix.edits and source.notebook is None:
            text, _ = apply(source, [one])
            first, last = min(edit.start for edit in one.fix.edits), max(edit.end for edit in one.fix.edits)
            try:
                data, mark = source.encode(text), b"\xef\xbb\xbf" if source.bom else b""
                head, tail = (part.encode(source.encoding) for part in (source.text[:first], source.text[last:]))
            except UnicodeError:
                continue
            if source.text.encode(source.encoding) != head + source.text[first:].encode(source.encoding):
                continue  # an encoding in which the bytes of a letter depend on those before it
            if not data.startswith(mark + head) or not data.endswith(tail):
                yield f"{one.code}: bytes beside the edits change"
            if set(_ends(text)) - set(_ends(source.text)) - {source.newline}:
                yield f"{one.code}: another kind of line end"
    for unsafe, outcome in _outcomes(examined):
        if not outcome.applied:
            continue
        data = source.encode(outcome.text)
        again = Source.from_bytes(examined.case.name, data)
        if (again.encoding, again.bom, again.text) != (source.encoding, source.bom, outcome.text):
            yield f"{codes(outcome.applied)}: the fixed bytes read differently (unsafe={unsafe})"
        if outcome.text and source.text[-1:] in ("\n", "\r") and outcome.text[-1] not in "\n\r":
            yield f"{codes(outcome.applied)}: the final newline is gone (unsafe={unsafe})"


def _ends(text: str) -> list[str]:
    return re.findall(r"\r\n|\r|\n", text)


def notebook_stays(examined: Examined) -> Iterator[str]:
    """Of a notebook, only the sources of Python cells change, and a fix leaves what IPython understands alone."""
    if examined.source is None or examined.source.notebook is None:
        return
    before = json.loads(examined.source.notebook.raw)
    for unsafe, outcome in _outcomes(examined):
        if not outcome.applied:
            continue
        after = json.loads(examined.source.encode(outcome.text).decode("utf-8-sig"))
        if _without_sources(before) != _without_sources(after):
            yield f"{codes(outcome.applied)}: more than sources changes (unsafe={unsafe})"
            continue
        for cell, new in zip(before["cells"], after["cells"]):
            if isinstance(cell, dict) and cell.get("cell_type") != "code" and cell != new:
                yield f"{codes(outcome.applied)}: a cell without code changes (unsafe={unsafe})"


def _without_sources(document: Any) -> Any:
    cells = [
        {k: v for k, v in cell.items() if k != "source"} if isinstance(cell, dict) else cell
        for cell in document["cells"]
    ]
    return {**document, "cells": cells}


def diff_is_fix(examined: Examined) -> Iterator[str]:
    """The diff that is shown, applied, is what the fixes write."""
    for unsafe, outcome in _outcomes(examined):
        assert examined.source is not None
        pairs = [(examined.source.text, outcome.text)]
        if examined.source.notebook is not None:
            notebook = examined.source.notebook
            pairs = list(zip(notebook.written(examined.source.text), notebook.written(outcome.text)))
        for before, after in pairs:
            if patched(before, list(diff.unified(before, after, "a.py"))) != after:
                yield f"{codes(outcome.applied)}: the diff gives another text (unsafe={unsafe})"


def patched(before: str, changes: list[str]) -> str:
    """A text after a unified diff; the lines of the diff must fit it.

    Raises:
        ValueError: the diff does not fit the text.
    """
    lines = diff.lines(before)
    result: list[str] = []
    position = 0
    for at, change in enumerate(changes):
        text = change[1:]
        if at + 1 < len(changes) and changes[at + 1].startswith("\\"):
            text = text[:-1]
        if change.startswith("@@"):
            match = re.match(r"@@ -(\d+)(?:,(\d+))? ", change)
            assert match is not None
            start = int(match[1]) - (match[2] != "0")
            result += lines[position:start]
            position = start
        elif at > 1 and change[0] in " -":
            if lines[position] != text:
                raise ValueError(f"{lines[position]!r} is not {text!r}")
            result += [text] if change[0] == " " else []
            position += 1
        elif at > 1 and change[0] == "+":
            result.append(text)
    return "".join(result + lines[position:])


def _outcomes(examined: Examined) -> Iterator[tuple[bool, FixOutcome]]:
    if examined.fixable:
        for unsafe in (False, True):
            yield unsafe, examined.fixed(unsafe)


def codes(found: Iterable[str]) -> str:
    return ", ".join(sorted(set(found))) or "nothing"


FIX_ORACLES = {
    "settles": settles,
    "compiles": stays_python,
    "names": names,
    "comments": comments,
    "bytes": bytes_stay,
    "notebook": notebook_stays,
    "diff": diff_is_fix,
}
