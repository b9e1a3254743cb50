"""What must hold for every input; each oracle tells what is wrong, in lines of the form `key: what was seen`."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from .cases import Case
from .examined import Examined, parses, python_takes
from .fix_oracles import FIX_ORACLES, codes


class Failure(NamedTuple):
    """What an oracle found wrong; `key` is the same for failures that most likely have one cause."""

    oracle: str
    key: str
    detail: str


Oracle = Callable[[Examined], Iterator[str]]

_REFUSALS = re.compile(
    r"contains NUL bytes|cannot be decoded|nested too deeply|LibCST cannot read row|would take too long|takes more than|given up"
)
"""The reasons for which a file is not checked."""


def examine(case: Case) -> tuple[Examined, list[Failure]]:
    """All that the oracles find wrong with one input."""
    examined = Examined(case)
    failures: list[Failure] = []
    for name, oracle in ORACLES.items():
        try:
            for line in oracle(examined):
                key, _, detail = line.partition(": ")
                failures.append(Failure(name, key, detail))
        except Exception as error:
            failures.append(Failure("no-crash", _where(error), f"{type(error).__name__}: {error}"))
            break
    return examined, failures


def _where(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {frame.name} ({'/'.join(frame.filename.split('/')[-2:])})"


def no_crash(examined: Examined) -> Iterator[str]:
    """A file is checked, or one line says why it is not."""
    error = examined.report.error
    if error and not _REFUSALS.search(error):
        yield f"{re.sub(r'[0-9]+', 'N', error)[:120]}: {error}"
    if "\n" in error or len(error) > 300:
        yield f"not one line: {error}"


def syntax(examined: Examined) -> Iterator[str]:
    """What Python takes is no syntax error; what it does not take, in older words either, is one, or is refused."""
    if examined.case.is_notebook:
        return
    told = [one for one in examined.report.diagnostics if one.code == "AMP900"]
    takes = python_takes(examined.case.data)
    if takes and told:
        yield f"Python takes it: {told[0].message}"
    if takes and "cannot be decoded" in examined.report.error:
        yield f"Python reads it: {examined.report.error}"
    silenced = b"ignore" in examined.case.data or b"noqa" in examined.case.data.lower()
    takes = takes or examined.source is not None and parses(examined.source.text)
    if not takes and not told and not examined.report.error and not silenced:
        yield "Python does not take it: no syntax error is told"


def places(examined: Examined) -> Iterator[str]:
    """Every place lies inside the file, every edit too, and edits change something."""
    source = examined.source
    if source is None:
        return
    for one in examined.report.diagnostics:
        for where in (one.range, *(related.range for related in one.related if not related.path)):
            if not 0 <= where.start.offset <= where.end.offset <= len(source.text):
                yield f"{one.code}: {where} lies outside of the file"
            elif where != source.range(where.start.offset, where.end.offset):
                yield f"{one.code}: {where} is not what its offsets say"
        edits = one.fix.edits if one.fix else ()
        if one.fix and not edits:
            yield f"{one.code}: a fix without edits"
        for before, after in zip(edits, edits[1:]):
            if before.end > after.start:
                yield f"{one.code}: edits overlap"
        for edit in edits:
            if not 0 <= edit.start <= edit.end <= len(source.text):
                yield f"{one.code}: {edit} lies outside of the file"
            elif source.text[edit.start : edit.end] == edit.replacement:
                yield f"{one.code}: {edit} changes nothing"


def round_trip(examined: Examined) -> Iterator[str]:
    """A text that nothing changed has the bytes it had, unless amplint knows that it has not, and then does not fix it."""
    source = examined.source
    if source is not None and source.faithful and source.encode(source.text) != examined.case.data:
        yield f"{source.encoding}: other bytes"


def dress(examined: Examined) -> Iterator[str]:
    """Windows line ends and a byte order mark change no finding."""
    data = examined.case.data
    source = examined.source
    if source is None or source.notebook is not None or source.encoding != "utf-8" or source.bom or b"\r" in data:
        return
    if examined.report.error or b"coding" in data[:200] or not python_takes(data):
        return
    other = Examined(replace(examined.case, data=b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")))
    before, after = (
        Counter((one.code, one.range.start.row, one.range.start.column) for one in each.report.diagnostics)
        for each in (examined, other)
    )
    if before != after or other.report.error:
        yield f"{codes(each[0] for each in (before - after) + (after - before))}: {other.report.error}"


ORACLES: dict[str, Oracle] = {
    "no-crash": no_crash,
    "syntax": syntax,
    "places": places,
    "round-trip": round_trip,
    "dress": dress,
    **FIX_ORACLES,
}
