"""What is replayed, and on what; and `amplint check --fix --verify`, which fixes what replays confirm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from amplint.cli.console import Console
from amplint.cli.options import Options
from amplint.cli.summary import Result
from amplint.cli.targets import Targets
from amplint.diagnostics import Applicability, Diagnostic, FileReport
from amplint.engine.checker import with_location
from amplint.engine.fixer import fixable, never_applied
from amplint.report.evidence.text import place, verdict
from amplint.runtime.device_choice import choose_device
from amplint.runtime.evidence import Evidence
from amplint.runtime.repairs import FixableFinding
from amplint.runtime.verdict import CONFIRMED
from amplint.runtime.verify import ReplayPlan, Verifier
from amplint.source import Source


def how_to_replay(options: Options) -> ReplayPlan:
    """How findings are replayed.

    Raises:
        DeviceError: there is no PyTorch or no such device.
    """
    chosen = choose_device(options.device)
    from amplint.runtime.replay.finding_replay import replay  # needs torch, which is known to be there only now

    return ReplayPlan(replay, chosen, options.seed, options.timeout, options.jobs, options.trust)


def replays_shown(console: Console) -> Callable[[int, int], None]:
    """Shows how far replaying is."""
    return lambda done, total: console.progress(done, total, "findings replayed")


def fixable_findings(
    wanted: Targets, result: Result, options: Options, others: Collection[str] = ()
) -> list[FixableFinding]:
    """The findings of a run that have a fix which may be applied, with the files that they are about.

    Args:
        wanted: the files.
        result: what linting them came to.
        options: what was asked for.
        others: codes of which fixes that are only shown count as well.
    """
    findings: list[FixableFinding] = []
    for item, report in zip(wanted.files, result.reports):
        ours = fixable(report, options.unsafe_fixes) + [one for one in never_applied(report) if one.code in others]
        source = result.source(item.display, wanted.read) if ours else None
        if source is not None:
            source = with_location(source, item.settings, item.path, report.entered)
            findings += _in_order(source, ours)
    return findings


def _in_order(source: Source, findings: Sequence[Diagnostic]) -> list[FixableFinding]:
    return [FixableFinding(source, one) for one in sorted(findings, key=lambda one: one.sort_key)]


class Prover:
    """Takes from reports the fixes that no replay confirms, and says why; its processes live until it is closed.

    Args:
        how: the device, and what a replay may take.
        options: what was asked for.
        console: hears of fixes that are not confirmed.
    """

    def __init__(self, how: ReplayPlan, options: Options, console: Console) -> None:
        self._verifier = Verifier(how)
        self._options, self._console = options, console
        self._tell = _once(console.note)

    def __enter__(self) -> Prover:
        return self

    def __exit__(self, *error: object) -> None:
        self._verifier.__exit__(*error)

    def foresee(self, wanted: Targets, result: Result) -> None:
        """Replay at once what all files begin with: what is replayed again for one of them is known.

        Args:
            wanted: the files.
            result: what linting them came to.
        """
        for _ in self._replayed(fixable_findings(wanted, result, self._options)):
            pass

    def confirmed(self, source: Source, report: FileReport) -> FileReport:
        """The report on a file, with the fixes that are not confirmed no more than shown.

        Args:
            source: the file.
            report: what was found in it.
        """
        unproved: set[Diagnostic] = set()
        for one in self._replayed(_in_order(source, fixable(report, self._options.unsafe_fixes))):
            if one.outcome.verdict != CONFIRMED:
                unproved.add(one.diagnostic)
                self._tell(f"{place(one.diagnostic)}: {one.diagnostic.code} not fixed: {verdict(one)}")
        kept = tuple(_untrusted(one) if one in unproved else one for one in report.diagnostics)
        return replace(report, diagnostics=kept)

    def _replayed(self, findings: Sequence[FixableFinding]) -> list[Evidence]:
        evidence = list(self._verifier.findings(findings, replays_shown(self._console)))
        self._console.end_progress()
        return evidence


def _untrusted(diagnostic: Diagnostic) -> Diagnostic:
    assert diagnostic.fix is not None
    return replace(diagnostic, fix=diagnostic.fix.demoted(Applicability.DISPLAY))


def _once(say: Callable[[str], None]) -> Callable[[str], None]:
    """A file is looked at again after each round of fixes; what was said of it need not be said again."""
    said: set[str] = set()

    def tell(text: str) -> None:
        if text not in said:
            said.add(text)
            say(text)

    return tell
