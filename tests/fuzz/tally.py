"""What a campaign has counted."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .cases import Case
from .examined import Examined
from .oracles import Failure

SLOW = 20.0
"""Seconds of processor time from which on an input is a finding of the campaign."""


@dataclass
class Tally:
    """Inputs by mutator, findings by rule, applied fixes by rule, failures by oracle; `slow` names inputs and their seconds."""

    inputs: int = 0
    batches: int = 0
    broken: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    mutators: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    fixes: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    slow: list[tuple[str, float]] = field(default_factory=list)
    cpu_seconds: float = 0.0

    def add(self, examined: Examined, failures: list[Failure], seconds: float) -> None:
        """Count one input."""
        self.took(examined.case, seconds)
        self.failures.update(f"{each.oracle}: {each.key}" for each in failures)
        if any(each.oracle == "no-crash" for each in failures):
            return
        report = examined.report
        self.broken += any(one.code == "AMP900" for one in report.diagnostics)
        if report.error:
            self.refused[" ".join(report.error.split()[:3])] += 1
        self.findings.update(one.code for one in report.diagnostics)
        self.fixes.update(examined.applied)

    def took(self, case: Case, seconds: float) -> None:
        """Count what an input has cost."""
        self.inputs += 1
        self.mutators.update(case.mutators)
        if seconds >= SLOW:
            self.slow.append((case.name, round(seconds, 1)))

    def merge(self, other: Tally) -> None:
        """Add what another one has counted."""
        for each in dataclasses.fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            setattr(self, each.name, mine + theirs)

    def write(self, path: Path) -> None:
        """Put it down for `read`."""
        path.write_text(json.dumps(vars(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Tally:
        """What was put down."""
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        values: dict[str, Any] = {
            name: Counter(value) if isinstance(value, dict) else value for name, value in found.items()
        }
        return cls(**values)

    def summary(self) -> str:
        """All of it as JSON."""
        found = dict(vars(self), cpu_seconds=round(self.cpu_seconds, 1))
        found["findings_in_all"], found["fixes_in_all"] = sum(self.findings.values()), sum(self.fixes.values())
        return json.dumps(found, indent=1, sort_keys=True)
