"""What the two witnesses say about a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.model.protocol.hazard import HazardKind
from amplint.rule import HIGH, INFO, File, Finding, rule
from amplint.runtime.recording.recorder import Recorder
from amplint.source import Source

from .program import Program, Setting

FILE = "program.py"
_SEEN_AT = {"exit-between-unscale-and-update": "unscaled"}
"""Hazards that stand at a statement, with the label of the call at which the recorder tells them."""
Spot = tuple[str, int]
"""A kind of hazard, and the line where it stands."""


@dataclass(frozen=True)
class Reading:
    """What the static witness says: hazards, what the rules report of them, and whether it gave up somewhere."""

    needs: Mapping[Spot, Counter[int]]
    """The hazards, each with the lines that have to be executed for it to happen, and how often: its own, and those of its
    other half."""
    reported: frozenset[Spot]
    gave_up: bool

    @property
    def hazards(self) -> frozenset[Spot]:
        """The hazards."""
        return frozenset(self.needs)


@dataclass(frozen=True)
class Run:
    """What the runtime witness saw under one setting: hazards, how often events happened on which line, and what ended it."""

    setting: Setting
    hazards: frozenset[Spot]
    lines: Counter[int]
    skipped: frozenset[int]
    """The lines of scaler steps that were skipped."""
    error: str


@lru_cache(maxsize=1)
def hazard_kinds() -> frozenset[str]:
    """The kinds of hazard that the protocol machine knows, by the names of their rules."""
    return frozenset(kind.value for kind in HazardKind)


@lru_cache(maxsize=1)
def _rules() -> tuple[Any, ...]:
    return tuple(rule for rule in load_rules() if rule.name in hazard_kinds())


def read(program: Program) -> Reading:
    """Lint a program.

    Raises:
        AssertionError: the linter has an internal error, or cannot parse the program.
    """
    files: list[File] = []

    def keep(file: File) -> Iterator[Finding]:
        files.append(file)
        return iter(())

    witness = rule("AMP999", "witness", INFO, HIGH, "0.1.0")(keep)
    report = lint_source(Source(FILE, program.text), (*_rules(), witness))
    assert not report.error, report.error
    needs: dict[Spot, Counter[int]] = {}
    places: dict[Spot, Spot] = {}
    for file in files:
        for each in file.analysis.hazards:
            kind = each.hazard.kind
            met = {label: file.range(node).start.row for label, node in each.related.items()}
            row = file.range(each.node).start.row
            # The recorder sees no statements: it knows that an iteration was left by what was done before.
            spot = (kind, met[_SEEN_AT[kind]] if kind in _SEEN_AT else row)
            places[kind, row] = spot
            needs[spot] = Counter(met.values()) if kind in _SEEN_AT else Counter((row, *met.values()))
    reported = {places.get(said, said) for said in ((each.name, each.range.start.row) for each in report.diagnostics)}
    return Reading(needs, frozenset(reported), any(file.analysis.gave_up for file in files))


def batches() -> list[torch.Tensor]:
    """The data of a run: 13 batches, so that neither 2 nor 3 divides them.

    The first and the 6th overflow everywhere, with a NaN that outlives a clip by value; the 4th only the gradients of a float16
    region, the 9th those of a wider one, too, so that a test of the loss for finiteness does not keep every overflow from the
    scaler.
    """
    values = torch.Generator().manual_seed(0)
    plain = [torch.rand(4, 2, generator=values) for _ in range(13)]
    for position in (0, 5):
        plain[position] = plain[position] * float("inf")
        plain[position][0] = float("nan")
    plain[3] = plain[3] * 2e4
    plain[8] = plain[8] * 1e35
    return plain


def run(program: Program, setting: Setting) -> Run:
    """Run a program under the recorder."""
    torch.set_num_threads(1)  # tiny tensors: handing them to threads takes forty times longer than computing
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(program.text, FILE, "exec"), namespace)
    torch.manual_seed(0)
    error = ""
    with Recorder() as recording:
        try:
            namespace["train"](batches(), **dict(setting))
        except (RuntimeError, AssertionError, ValueError) as raised:
            error = f"{type(raised).__name__}: {raised}"
    torch.set_autocast_enabled("cpu", False)  # whatever the program has left behind
    hazards = frozenset((seen.kind, seen.place.line) for seen in recording.hazards)
    lines = Counter(event.line for event in recording.events)
    skipped = frozenset(event.line for event in recording.events if event.values.get("skipped"))
    return Run(setting, hazards, lines, skipped, error)


def runs(program: Program) -> tuple[Run, ...]:
    """Run a program under every setting of its flags."""
    return tuple(run(program, setting) for setting in program.settings())


def text_of(setting: Mapping[str, bool] | Setting) -> str:
    """A setting in words."""
    return ", ".join(f"{name}={value}" for name, value in dict(setting).items()) or "no flags"
