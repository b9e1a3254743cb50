"""A traced run as JSON lines: one for each step as it happens, then one for the whole run."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from amplint.tracing.step_record import StepRecord
from amplint.tracing.trace_record import TraceRecord


def step_row(step: StepRecord) -> str:
    """A step, with the end of its line; numbers that JSON does not have are written as `"inf"`, `"-inf"` and `"nan"`."""
    return _line({"type": "step", **asdict(step)})


def run_row(record: TraceRecord) -> str:
    """The whole run but for its steps, with the end of its line."""
    whole = asdict(record)
    del whole["steps"]
    return _line({"type": "run", **whole})


def _line(row: dict[str, Any]) -> str:
    return json.dumps(plain(row), allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """A value as JSON can say it: numbers that it does not have become texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (list, tuple)) else value
