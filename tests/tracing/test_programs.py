"""Small training scripts, each with one failure and a healthy twin: the trace names cause, module and line, or is silent.

A line that ends in `# healthy: CODE` is CODE in the twin; `# here` marks the line that is to be named, `# here without --ops`
another one that is named where a step is run again. The second line of a
script says what is expected: a code, `warning` and some of its words, or `PASS OPERATION in MODULE; WHY`, with `-` for none.
The operation is named with `--ops`, and without: then the step is run again.
"""

from __future__ import annotations

import multiprocessing
import re
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("torch", reason="tracing needs torch: pip install 'amplint[verify]'")

from amplint.cli.trace_outputs import seen_defects
from amplint.tracing.script import Script
from amplint.tracing.session import TraceOptions, run_traced
from amplint.tracing.trace_record import TraceRecord

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))
_CLEAN = multiprocessing.get_context("forkserver")
"""Makes processes that have imported torch, and know nothing of what other tests have computed with it."""
_CLEAN.set_forkserver_preload(["torch._dynamo", "amplint.cli.trace_outputs", "amplint.tracing.session"])
_AGAIN = "# expect without --ops: "
_ONLY_AGAIN = " without --ops"
_HEALTHY = re.compile(r"^( *)(.*?)  # (?:here  # )?healthy: (.*)$", re.M)


class Program(NamedTuple):
    """A script, its healthy twin, what the trace is to say of it, and of which line."""

    text: str
    twin: str
    expected: str
    line: int


def program(path: Path, operations: bool = False) -> Program:
    text = path.read_text()
    lines = text.splitlines()
    again = lines[2].startswith(_AGAIN) and not operations
    marks = {
        line.partition("# here")[2].partition("  #")[0]: number
        for number, line in enumerate(lines, 1)
        if "# here" in line
    }
    here = marks.get(_ONLY_AGAIN, marks[""]) if again else marks[""]
    expected = lines[2].removeprefix(_AGAIN) if again else lines[1].removeprefix("# expect: ")
    return Program(text, _HEALTHY.sub(r"\1\3", text), expected, here)


def trace(path: Path, text: str, operations: bool = False) -> TraceRecord:
    """Trace a script in a process that has torch already."""
    path.write_text(text)
    with _CLEAN.Pool(1) as pool:
        return pool.apply(_traced, (str(path), operations))


def _traced(path: str, operations: bool) -> TraceRecord:
    warnings.resetwarnings()
    device = "cuda-emulated" if "cuda" in Path(path).read_text() else "cpu"
    record, ending = run_traced(Script(path), TraceOptions(device, operations=operations), seen_defects)
    assert not ending.traceback, ending.traceback
    return record


@pytest.mark.parametrize("operations", [False, True], ids=["again", "operations"])
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_cause_is_named(path: Path, operations: bool, tmp_path: Path) -> None:
    told = program(path, operations)
    _check(told, trace(tmp_path / path.name, told.text, operations), path)


def _check(told: Program, record: TraceRecord, path: Path) -> None:
    if told.expected.startswith("warning "):
        assert any(told.expected.removeprefix("warning ") in one for one in record.warnings), record.warnings
        return
    if told.expected.startswith("AMP"):
        assert [(one.code, one.place.rpartition(":")[2]) for one in record.defects] == [(told.expected, str(told.line))]
        return
    assert record.first is not None
    found = re.fullmatch(r"(\S+) (\S+) in (\S+); (.*)", told.expected)
    assert found is not None, told.expected
    direction, operation, module, why = ("" if part == "-" else part for part in found.groups())
    first = record.first
    assert first.why.startswith(why), first
    assert first.place.endswith(f"{path.name}:{told.line}"), first
    assert first.operation.startswith(operation), first
    assert first.module == module, first
    assert not direction or first.backward == (direction == "backward"), first


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_the_healthy_twin_is_silent(path: Path, tmp_path: Path) -> None:
    told = program(path)
    assert told.twin != told.text
    record = trace(tmp_path / path.name, told.twin)
    assert (record.first, record.defects, record.warnings) == (None, [], [])
