"""How bad a finding is, which the project says, or its rule: the one place that is asked by reports and gates."""

from __future__ import annotations

from amplint.diagnostics import Diagnostic
from amplint.engine.config_values import SEVERITIES
from amplint.engine.selection import all_rules

ERROR, WARNING, INFO = SEVERITIES


def severity(diagnostic: Diagnostic) -> str:
    """How bad a finding is, one of `SEVERITIES`; that of a rule which is not installed is an error."""
    if diagnostic.severity:
        return diagnostic.severity
    rule = all_rules().get(diagnostic.code)
    return diagnostic.severity or (rule.severity if rule else ERROR)


def is_at_least(one: str, limit: str) -> bool:
    """Whether a severity is as bad as another.

    Args:
        one: the severity in question.
        limit: the one that it is held to.
    """
    return SEVERITIES.index(one) <= SEVERITIES.index(limit)
