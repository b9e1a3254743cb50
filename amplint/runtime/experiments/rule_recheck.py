"""What the rule of a finding says of a repair: whether the finding is gone, and what the rule's own is."""

from __future__ import annotations

from dataclasses import replace

from amplint.diagnostics import Diagnostic
from amplint.engine.fixer import apply
from amplint.engine.registry import load_rules
from amplint.finding import Finding, told_once
from amplint.rule import File
from amplint.runtime.training.run_record import NotReplayable
from amplint.source import Source


def is_mended(before: File, after: File, diagnostic: Diagnostic) -> bool:
    """Whether the rule of a finding finds one place less in the file with the fix.

    Raises:
        NotReplayable: it does not find the place in the file as it stands.
    """
    found = _found(before, diagnostic)
    if diagnostic.range not in [each.range for each in found]:
        raise NotReplayable("the place that the finding is about is not found again")
    return len(_found(after, diagnostic)) < len(found)


def with_own_fix(before: File, diagnostic: Diagnostic) -> Source:
    """A file with the fix of the rule of a finding; as it stands where there is none.

    Args:
        before: the file as it stands.
        diagnostic: the finding, with a fix or without.
    """
    own = before.source.text
    for each in told_once(_found(before, diagnostic)):
        if each.range == diagnostic.range:
            own, _ = apply(before.source, [Diagnostic("", "", "", diagnostic.range, fix=each.fix)])
    return replace(before.source, text=own)


def _found(file: File, diagnostic: Diagnostic) -> list[Finding]:
    rule = next(rule for rule in load_rules() if rule.code == diagnostic.code)
    return list(rule.check(file))
