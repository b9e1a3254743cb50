"""Findings and their fixes, replayed one by one: each in a process that may hang or die without harm to the others."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from amplint.diagnostics import Diagnostic
from amplint.engine.fixer import apply, compiles
from amplint.engine.pool import Died, run_all, worker_count
from amplint.engine.registry import load_rules
from amplint.model.observables import NON_FINITE, VALUE_ERROR
from amplint.rule import Rule
from amplint.runtime.devices import CUDA, Device, DeviceError, find_device, require_torch
from amplint.runtime.evidence import Evidence
from amplint.runtime.execution.tree_copies import place_for_copies
from amplint.runtime.replay.neighbouring_fixes import judge_in_company
from amplint.runtime.verdict import ERROR, NOT_REPLAYABLE, REFUTED, Outcome
from amplint.source import Source

Replay = Callable[[Source, Source, Diagnostic, Rule, str, int], Outcome]
"""Replays a file before and after a fix: `replay(before, after, diagnostic, rule, device, seed)`."""

_PROBING = 60.0
"""Seconds that a driver may take to say what GPU there is."""


class FixableFinding(NamedTuple):
    """A finding that has a fix, and the file it is about."""

    source: Source
    diagnostic: Diagnostic


class ReplayPlan(NamedTuple):
    """How findings are replayed.

    `limit` is the time, in seconds, that one replay may take; `jobs` the number of processes (0: one for each processor).
    On a GPU it is always one, lest times be measured while others work. With `trust`, the author's own function is run where
    its expression cannot be read (`amplint.runtime.execution`); without it no code of the author's ever is.
    """

    replay: Replay
    device: Device
    seed: int = 0
    limit: float = 60.0
    jobs: int = 0
    trust: bool = False


class Repair(NamedTuple):
    """A file before and after a repair of one finding, whoever wrote it.

    Attributes:
        before: the file with the finding.
        after: the file with the repair.
        diagnostic: the finding, as it is in `before`.
        neighbours: the other findings in `before`, whose fixes may be applied before and after, where they hide what it does.
    """

    before: Source
    after: Source
    diagnostic: Diagnostic
    neighbours: tuple[Diagnostic, ...] = ()


class _Task(NamedTuple):
    repair: Repair
    how: ReplayPlan
    copies: Path | None
    """Where copies of projects lie, whose code may be run; None where none may."""


def choose_device(choice: str) -> Device:
    """The device that a word of `amplint.runtime.devices.CHOICES` means here; this process stays free of CUDA.

    Raises:
        DeviceError: there is no PyTorch or no such device.
    """
    answer = _asked(choice, fork=True)
    if isinstance(answer, _Unusable):  # this process uses CUDA itself, which is then of no use to a fork
        answer = _asked(choice, fork=False)
    if isinstance(answer, Device):
        return answer
    raise DeviceError(f"PyTorch did not say what devices it has ({answer.how})" if isinstance(answer, Died) else answer)


class _Unusable(str):
    """Why a CUDA device that is there cannot be used."""


def _asked(choice: str, fork: bool) -> Device | str | Died:
    return next(answer for _, answer in run_all(_find, [choice], 1, require_torch, _PROBING, fork))


def _find(choice: str) -> Device | str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an old driver, an old GPU: what matters is said by the answer
            return find_device(choice)
    except DeviceError as error:
        return str(error)
    except RuntimeError as error:
        return _Unusable(f"the CUDA device cannot be used: {str(error).splitlines()[0]}")


def verify_findings(
    findings: Sequence[FixableFinding], how: ReplayPlan, on_progress: Callable[[int, int], None] | None = None
) -> Iterator[Evidence]:
    """Replay findings with amplint's own fixes; yields the evidence on each, in their order.

    Args:
        findings: those that have a fix.
        how: the device, and what a replay may take.
        on_progress: called with the number of findings replayed and of all, whenever one is done.

    Raises:
        DeviceError: there is no PyTorch.
    """
    in_file: dict[str, list[Diagnostic]] = {}
    for source, diagnostic in findings:
        in_file.setdefault(source.path, []).append(diagnostic)
    yield from verify_repairs([_own_repair(one, in_file[one.source.path]) for one in findings], how, on_progress)


def verify_repairs(
    repairs: Sequence[Repair], how: ReplayPlan, on_progress: Callable[[int, int], None] | None = None
) -> Iterator[Evidence]:
    """Replay repairs; yields the evidence on each, in their order.

    Args:
        repairs: files before and after, and the findings that are judged.
        how: the device, and what a replay may take.
        on_progress: called with the number of repairs replayed and of all, whenever one is done.

    Raises:
        DeviceError: there is no PyTorch.
    """
    following = 0
    early: dict[int, Evidence] = {}
    for done, (index, outcome, seconds) in enumerate(_outcomes(repairs, how), 1):
        before, after, diagnostic, _ = repairs[index]
        early[index] = Evidence(diagnostic, before, after, outcome, how.device, how.seed, seconds)
        if on_progress is not None:
            on_progress(done, len(repairs))
        while following in early:
            yield early.pop(following)
            following += 1


def _own_repair(finding: FixableFinding, in_file: Sequence[Diagnostic]) -> Repair:
    source, diagnostic = finding
    fixed, _ = apply(source, [diagnostic])
    return Repair(source, replace(source, text=fixed), diagnostic, tuple(one for one in in_file if one != diagnostic))


def _outcomes(repairs: Sequence[Repair], how: ReplayPlan) -> Iterator[tuple[int, Outcome, float]]:
    replayed: list[int] = []
    for index, repair in enumerate(repairs):
        known = _known(repair)
        if known is None:
            replayed.append(index)
        else:
            yield index, known, 0.0
    if not replayed:
        return
    on_gpu = how.device.kind == CUDA
    workers = 1 if on_gpu else worker_count(how.jobs)
    with place_for_copies() if how.trust else nullcontext() as copies:
        todo = [_Task(repairs[index], how, copies) for index in replayed]
        for position, answer in run_all(_replay, todo, workers, _prepare, how.limit, fork=not on_gpu):
            if isinstance(answer, Died):
                yield replayed[position], Outcome(ERROR, f"the replay gave no verdict ({answer.how})"), 0.0
            else:
                yield replayed[position], *answer


def _known(repair: Repair) -> Outcome | None:
    """The outcome of what needs no replay."""
    if not compiles(repair.after.text) and compiles(repair.before.text):
        return Outcome(REFUTED, "with the fix the file does not compile")
    if _rule(load_rules(), repair.diagnostic.code) is None:
        return Outcome(NOT_REPLAYABLE, "the finding is about a comment, which does not run")
    return None


def _rule(rules: Iterable[Rule], code: str) -> Rule | None:
    return next((rule for rule in rules if rule.code == code), None)


def _prepare() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch = require_torch()
        # The first optimizer imports as much again as torch itself: once, then, and not in every process.
        torch.optim.SGD([torch.zeros(1)], lr=0.1)
    load_rules()


def _replay(task: _Task) -> tuple[Outcome, float]:
    torch = require_torch()
    torch.set_num_threads(1)  # how many there are decides the order of sums, and with it the last digits
    rule = _rule(load_rules(), task.repair.diagnostic.code)
    assert rule is not None, "what no rule has found is not replayed"
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # code with a defect is what torch warns about
            outcome = _judged(task, rule)
    except Exception as error:  # a bug of amplint, or a device that failed: it costs this finding, never the others
        outcome = Outcome(ERROR, " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":"))
    return outcome, time.perf_counter() - began


def _judged(task: _Task, rule: Rule) -> Outcome:
    repair, how, copies = task

    def replay(before: Source, after: Source, diagnostic: Diagnostic) -> Outcome:
        outcome = how.replay(before, after, diagnostic, rule, how.device.kind, how.seed)
        measure = rule.observable.measure if rule.observable is not None else ""
        if copies is None or outcome.verdict != NOT_REPLAYABLE or measure not in (NON_FINITE, VALUE_ERROR):
            return outcome
        from amplint.runtime.execution.proof import execute  # needs torch

        run = execute(before, after, diagnostic, measure, how.device.kind, how.seed, copies)
        return run if run.basis else replace(outcome, reason=f"{outcome.reason}; and when it is run, {run.reason}")

    before, after, diagnostic, neighbours = repair
    return judge_in_company(before, diagnostic, replay(before, after, diagnostic), neighbours, replay)
