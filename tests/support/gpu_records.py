"""A plugin of pytest that writes down what each test comes to as soon as it is known, and leaves out what is known already.

    python -m pytest -p gpu_records --records FILE --slice 2/4 -m cuda -k ...

Each line of the file is one JSON object. A test that begins is a line, too: where no other follows, the process died of it.
After a failure that leaves the GPU unusable the process ends by itself, with exit code `POISONED`; the next one goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

POISONED = 77
"""Exit code of a process whose GPU context is of no use any more."""
UNFINISHED = "unfinished"
"""The outcome of a test that was cut off for want of time, once: the next time it counts as dead."""


def known(file: Path) -> dict[str, dict[str, Any]]:
    """The last line on each test, by its id; a test that only began died. Not known is one for which there was no time left."""
    found: dict[str, dict[str, Any]] = {}
    for line in file.read_text("utf-8").splitlines() if file.exists() else ():
        try:
            record = json.loads(line)
        except ValueError:  # cut off, by a kill
            continue
        if "test" in record:
            found[record["test"]] = record
    return {test: record for test, record in found.items() if record["outcome"] != UNFINISHED}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to write, and which part of the tests is wanted."""
    parser.addoption("--records", required=True, type=Path)
    parser.addoption("--slice", default="1/1", help="which of how many slices of the tests")


class Keeper:
    """Writes the lines."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def write(self, record: dict[str, Any]) -> None:
        """Append a line, whole and at once."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Note that a test begins."""
        self.write({"test": item.nodeid, "outcome": "died"})
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note what came of it."""
        report = yield
        if report.when == "call" or (report.when == "setup" and not report.passed):
            self.write(_record(report, call))
            if report.failed and _is_poisoned():
                pytest.exit("the GPU is of no use to this process any more", POISONED)
        return report


def _record(report: pytest.TestReport, call: pytest.CallInfo[None]) -> dict[str, Any]:
    said = ""
    if report.skipped and isinstance(report.longrepr, tuple):
        said = report.longrepr[2].removeprefix("Skipped: ")
    elif call.excinfo is not None:
        said = f"{call.excinfo.typename}: {str(call.excinfo.value).splitlines()[0] if str(call.excinfo.value) else ''}"
    seen: dict[str, list[object]] = {"note": [], "difference": [], "timing": []}
    for kind, value in report.user_properties:
        seen[kind].append(value)
    result = {"test": report.nodeid, "outcome": report.outcome, "seconds": round(report.duration, 3), "said": said}
    return result | {f"{kind}s": values for kind, values in seen.items() if values}


def _is_poisoned() -> bool:
    import torch

    if not torch.cuda.is_initialized():
        return False
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False


def pytest_configure(config: pytest.Config) -> None:
    """Begin to write."""
    config.pluginmanager.register(Keeper(config.getoption("--records")), "keeper")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is in other slices, and what is known."""
    number, of = map(int, config.getoption("--slice").split("/"))
    done = known(config.getoption("--records"))
    items[:] = [item for item in items[number - 1 :: of] if item.nodeid not in done]
