"""Findings and their fixes, replayed one by one: each in a process that may hang or die without harm to the others."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from amplint.diagnostics import Diagnostic
from amplint.engine.fixed_text import compiles
from amplint.engine.pool import Died, LastAnswer, TimeLimit, Workers, worker_count
from amplint.engine.registry import load_rules
from amplint.model.observables import NON_FINITE, VALUE_ERROR
from amplint.rule import Rule
from amplint.runtime.devices import CUDA, Device, import_optimizers, require_torch
from amplint.runtime.evidence import Evidence
from amplint.runtime.execution.tree_copies import place_for_copies
from amplint.runtime.repairs import FixableFinding, Repair, own_repair
from amplint.runtime.replay.neighbouring_fixes import judge_in_company
from amplint.runtime.verdict import ERROR, NOT_REPLAYABLE, REFUTED, Outcome
from amplint.source import Source

Replay = Callable[[Source, Source, Diagnostic, Rule, str, int, bool], Outcome]
"""Replays a file before and after a fix: `replay(before, after, diagnostic, rule, device, seed, is_patch)`."""

_PATIENCE = 300.0
"""Seconds by the clock after which a replay is killed that uses no processor time, or ten times the limit on that if it is more:
other programs may have the processors."""


class ReplayPlan(NamedTuple):
    """How findings are replayed.

    `limit` is the processor time, in seconds, that one replay may take; what sleeps is killed as well.
    `jobs` is the number of processes (0: one for each processor). On a GPU it is always one, lest times be measured while
    others work. With `trust`, the author's own function is run where its expression cannot be read
    (`amplint.runtime.execution`); without it no code of the author's ever is.
    """

    replay: Replay
    device: Device
    seed: int = 0
    limit: float = 60.0
    jobs: int = 0
    trust: bool = False


class _Task(NamedTuple):
    repair: Repair
    how: ReplayPlan
    copies: Path | None
    """Where copies of projects lie, whose code may be run; None where none may."""


class _Timed(NamedTuple):
    outcome: Outcome
    seconds: float


_Progress = Callable[[int, int], None] | None


class Verifier:
    """Replays repairs, in processes that wait for more until it is closed; what it has replayed once, it knows.

    Args:
        how: the device, and what a replay may take.
    """

    def __init__(self, how: ReplayPlan) -> None:
        self._how = how
        on_gpu = how.device.kind == CUDA
        limit = TimeLimit(max(_PATIENCE, 10 * how.limit), how.limit)
        self._workers: Workers[_Task, _Timed] = Workers(
            _replay, 1 if on_gpu else worker_count(how.jobs), _prepare, limit, fork=not on_gpu
        )
        self._known: dict[Repair, _Timed] = {}
        self._until_closed = ExitStack()
        self._copies = self._until_closed.enter_context(place_for_copies()) if how.trust else None

    def __enter__(self) -> Verifier:
        return self

    def __exit__(self, *error: object) -> None:
        self._workers.close()
        self._until_closed.close()

    def findings(self, findings: Sequence[FixableFinding], on_progress: _Progress = None) -> Iterator[Evidence]:
        """The evidence on findings with amplint's own fixes, in their order.

        Args:
            findings: those that have a fix.
            on_progress: called with the number of findings replayed and of all, whenever one is done.

        Raises:
            DeviceError: there is no PyTorch.
        """
        in_file: dict[str, list[Diagnostic]] = {}
        for source, diagnostic in findings:
            in_file.setdefault(source.path, []).append(diagnostic)
        return self.repairs([own_repair(one, in_file[one.source.path]) for one in findings], on_progress)

    def repairs(self, repairs: Sequence[Repair], on_progress: _Progress = None) -> Iterator[Evidence]:
        """The evidence on repairs, in their order.

        Args:
            repairs: files before and after, and the findings that are judged.
            on_progress: called with the number of repairs replayed and of all, whenever one is done.

        Raises:
            DeviceError: there is no PyTorch.
        """
        following = 0
        early: dict[int, Evidence] = {}
        for done, (index, (outcome, seconds)) in enumerate(self._outcomes(repairs), 1):
            one, how = repairs[index], self._how
            patched = one.after.path if one.patched else ""
            early[index] = Evidence(
                one.diagnostic, one.before, one.after, outcome, how.device, how.seed, seconds, patched
            )
            if on_progress is not None:
                on_progress(done, len(repairs))
            while following in early:
                yield early.pop(following)
                following += 1

    def _outcomes(self, repairs: Sequence[Repair]) -> Iterator[tuple[int, _Timed]]:
        replayed: list[int] = []
        for index, repair in enumerate(repairs):
            if repair in self._known:
                yield index, self._known[repair]
            elif (plain := _without_replay(repair)) is not None:
                yield index, _Timed(plain, 0.0)
            else:
                replayed.append(index)
        tasks = [_Task(repairs[index], self._how, self._copies) for index in replayed]
        for position, answer in self._workers.run(tasks, _file_of):
            index = replayed[position]
            if isinstance(answer, Died):
                answer = _Timed(Outcome(ERROR, f"the replay gave no verdict ({answer.how})"), 0.0)
            self._known[repairs[index]] = answer
            yield index, answer


def verify_findings(
    findings: Sequence[FixableFinding], how: ReplayPlan, on_progress: _Progress = None
) -> Iterator[Evidence]:
    """See `Verifier.findings`; the processes end with the last of them."""
    with Verifier(how) as verifier:
        yield from verifier.findings(findings, on_progress)


def verify_repairs(repairs: Sequence[Repair], how: ReplayPlan, on_progress: _Progress = None) -> Iterator[Evidence]:
    """See `Verifier.repairs`; the processes end with the last of them."""
    with Verifier(how) as verifier:
        yield from verifier.repairs(repairs, on_progress)


def _without_replay(repair: Repair) -> Outcome | None:
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
        import_optimizers()
    load_rules()


def _file_of(task: _Task) -> str:
    """The file of a task, which a process that has read it once need not read again."""
    return task.repair.before.path


def _replay(task: _Task) -> _Timed | LastAnswer[_Timed]:
    torch = require_torch()
    torch.set_num_threads(1)  # how many there are decides the order of sums, and with it the last digits
    rule = _rule(load_rules(), task.repair.diagnostic.code)
    assert rule is not None, "what no rule has found is not replayed"
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # code with a defect is what torch warns about
            outcome = _judged(task, rule)
    except Exception as error:  # a bug of amplint, or a device that failed: it costs this finding, never the others
        outcome = Outcome(ERROR, _one_line(error))
    seconds = time.process_time() - began
    failure = _device_failure() if task.how.device.kind == CUDA else ""
    if failure:  # whatever came after it in this process failed, too
        return LastAnswer(_Timed(Outcome(ERROR, f"a kernel failed on the device: {failure}"), seconds))
    return _Timed(outcome, seconds)


def _device_failure() -> str:
    """What is wrong with this process's use of the GPU, since a kernel asserted what did not hold; empty for nothing."""
    try:
        require_torch().cuda.synchronize()
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return ""


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split()).rstrip(":")


def _judged(task: _Task, rule: Rule) -> Outcome:
    repair, how, copies = task

    def replay(before: Source, after: Source, diagnostic: Diagnostic) -> Outcome:
        outcome = how.replay(before, after, diagnostic, rule, how.device.kind, how.seed, repair.patched)
        measure = rule.observable.measure if rule.observable is not None else ""
        is_read = outcome.verdict != NOT_REPLAYABLE or outcome.basis
        if copies is None or is_read or measure not in (NON_FINITE, VALUE_ERROR):
            return outcome
        from amplint.runtime.execution.proof import execute  # needs torch

        run = execute(before, after, diagnostic, measure, how.device.kind, how.seed, repair.patched, copies)
        return run if run.basis else replace(outcome, reason=f"{outcome.reason}; and when it is run, {run.reason}")

    diagnostic = repair.diagnostic
    outcome = replay(repair.before, repair.after, diagnostic)
    return judge_in_company(repair.before, diagnostic, outcome, repair.neighbours, repair.with_fixes, replay)
