"""What the rule of a finding says of a repair: whether the finding is gone, and where the repair is not the rule's own."""

from __future__ import annotations

from amplint.diagnostics import Diagnostic
from amplint.engine.fixer import apply
from amplint.engine.registry import load_rules
from amplint.finding import Finding, told_once
from amplint.rule import File
from amplint.runtime.changes import changes
from amplint.runtime.training.run_record import NotReplayable


def is_mended(before: File, after: File, diagnostic: Diagnostic) -> bool:
    """Whether the rule of a finding finds one place less in the file with the fix.

    Raises:
        NotReplayable: it does not find the place in the file as it stands.
    """
    found = _found(before, diagnostic)
    if diagnostic.range not in [each.range for each in found]:
        raise NotReplayable("the place that the finding is about is not found again")
    return len(_found(after, diagnostic)) < len(found)


def other_than_own_fix(before: File, after: File, diagnostic: Diagnostic) -> tuple[str, ...]:
    """The statements in which a repair is not the fix of its rule, each as one line.

    Args:
        before: the file as it stands.
        after: the file with the repair.
        diagnostic: the finding, with a fix or without.
    """
    fixes = (each.fix for each in told_once(_found(before, diagnostic)) if each.range == diagnostic.range)
    own = before.source.text
    for fix in fixes:
        own, _ = apply(before.source, [Diagnostic("", "", "", diagnostic.range, fix=fix)])
    return tuple(dict.fromkeys(each.text for each in changes(own, after.source.text)))


def _found(file: File, diagnostic: Diagnostic) -> list[Finding]:
    rule = next(rule for rule in load_rules() if rule.code == diagnostic.code)
    return list(rule.check(file))
