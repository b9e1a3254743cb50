"""The device that replays run on, and `amplint check --fix --verify`, which fixes what they confirm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from amplint.cli.console import Console
from amplint.cli.fixing import Confirm
from amplint.cli.options import Options
from amplint.diagnostics import Applicability, Diagnostic, FileReport
from amplint.engine.fixer import fixable
from amplint.report.evidence.text import place, verdict
from amplint.runtime.devices import DeviceError
from amplint.runtime.evidence import Evidence
from amplint.runtime.verdict import CONFIRMED
from amplint.runtime.verify import FixableFinding, ReplayPlan, choose_device, verify_findings
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


def confirmer(options: Options, console: Console) -> Confirm | None:
    """What takes the fixes from a report that no replay confirms, and tells the console why.

    Args:
        options: what was asked for.
        console: hears of fixes that are not confirmed.

    Returns:
        None, once the console knows the reason, where nothing can be replayed.
    """
    try:
        how = how_to_replay(options)
    except DeviceError as error:
        console.problem("", str(error))
        return None

    def confirm(source: Source, report: FileReport) -> FileReport:
        findings = [FixableFinding(source, one) for one in fixable(report, options.unsafe_fixes)]
        unproved: dict[Diagnostic, Evidence] = {}
        for one in verify_findings(findings, how, replays_shown(console)):
            if one.outcome.verdict != CONFIRMED:
                unproved[one.diagnostic] = one
        console.end_progress()
        for diagnostic, evidence in unproved.items():
            tell(f"{place(diagnostic)}: {diagnostic.code} not fixed: {verdict(evidence)}")
        kept = tuple(_untrusted(one) if one in unproved else one for one in report.diagnostics)
        return replace(report, diagnostics=kept)

    tell = _once(console.note)
    return confirm


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
