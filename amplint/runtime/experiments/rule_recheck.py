"""Whether a fix has done what it is for, told by the rule itself."""

from __future__ import annotations

from amplint.diagnostics import Diagnostic
from amplint.engine.registry import load_rules
from amplint.rule import File
from amplint.runtime.training.run_record import NotReplayable


def is_mended(before: File, after: File, diagnostic: Diagnostic) -> bool:
    """Whether the rule of a finding finds one place less in the file with the fix.

    Raises:
        NotReplayable: it does not find the place in the file as it stands.
    """
    rule = next(rule for rule in load_rules() if rule.code == diagnostic.code)
    found = [each.range for each in rule.check(before)]
    if diagnostic.range not in found:
        raise NotReplayable("the place that the finding is about is not found again")
    return len(list(rule.check(after))) < len(found)
