"""What there is to show for a verdict. Imports no torch: reports read it."""

from __future__ import annotations

from dataclasses import dataclass

from amplint.diagnostics import Diagnostic
from amplint.runtime.devices import Device
from amplint.runtime.verdict import Outcome
from amplint.source import Source


@dataclass(frozen=True)
class Evidence:
    """A finding, what was measured before and after its fix, and where.

    Attributes:
        before: the file as it stands.
        after: the file with the fix of this finding, and no other, applied; or the file that somebody's patch made of it.
        seconds: the processor time that the replay took; the only thing that differs from run to run.
        patched: the path of the file that somebody's patch made of it; empty for a fix of amplint's own.
    """

    diagnostic: Diagnostic
    before: Source
    after: Source
    outcome: Outcome
    device: Device
    seed: int
    seconds: float
    patched: str = ""
