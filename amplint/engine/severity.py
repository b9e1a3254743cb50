"""How bad a finding is, which its rule says: the one place that is asked by reports and gates."""

from __future__ import annotations

from amplint.diagnostics import Diagnostic
from amplint.engine.selection import all_rules

ERROR, WARNING, INFO = SEVERITIES = ("error", "warning", "info")
"""From the worst; `amplint.rule.Severity` says what each means."""


def severity(diagnostic: Diagnostic) -> str:
    """How bad a finding is, one of `SEVERITIES`; that of a rule which is not installed is an error."""
    if diagnostic.severity:
        return diagnostic.severity
    rule = all_rules().get(diagnostic.code)
    return rule.severity if rule else ERROR


def is_at_least(one: str, limit: str) -> bool:
    """Whether a severity is as bad as another.

    Args:
        one: the severity in question.
        limit: the one that it is held to.
    """
    return SEVERITIES.index(one) <= SEVERITIES.index(limit)


def codes_below(limit: str) -> tuple[str, ...]:
    """The codes of all rules whose findings are less bad than that.

    Raises:
        RegistryError: the rules cannot be loaded.
    """
    return tuple(code for code, rule in all_rules().items() if not is_at_least(rule.severity, limit))
