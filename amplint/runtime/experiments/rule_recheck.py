"""What the rule of a finding says of a file."""

from __future__ import annotations

from amplint.diagnostics import Diagnostic
from amplint.engine.registry import load_rules
from amplint.finding import Finding
from amplint.rule import File
from amplint.runtime.training.run_record import NotReplayable


def is_mended(before: File, after: File, diagnostic: Diagnostic) -> bool:
    """Whether the rule of a finding finds one place less in the file with the fix.

    Raises:
        NotReplayable: it does not find the place in the file as it stands.
    """
    found = findings(before, diagnostic.code)
    if diagnostic.range not in [each.range for each in found]:
        raise NotReplayable("the place that the finding is about is not found again")
    return len(findings(after, diagnostic.code)) < len(found)


def findings(file: File, code: str) -> list[Finding]:
    """All that a rule finds in a file.

    Args:
        file: the file.
        code: that of the rule.
    """
    rule = next(rule for rule in load_rules() if rule.code == code)
    return list(rule.check(file))
