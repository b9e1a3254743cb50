"""What a rule is, and what it may ask about a file.

A rule module holds a docstring (the rule's page), and one function decorated with `rule`:

    @rule("AMP101", "clip-before-unscale", ERROR, HIGH, "0.1.0", fix=SAFE, triggers=("clip_grad",))
    def check(file: File) -> Iterator[Finding]:
        ...

Rules hold no state; everything about a file is asked from `File`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import field
from enum import Enum
from typing import Any

from amplint.diagnostics import (
    FLOAT16_TRAINING,
    MIXED_PRECISION,
    NOBODY_UNSCALES,
    TRAINING,
    Applicability,
    Diagnostic,
    Fix,
    NoFix,
    category,
)
from amplint.edits.statement_rows import Statement
from amplint.file import File
from amplint.finding import Finding, told_once
from amplint.hazards.found import Found
from amplint.model.observables import Observable
from amplint.model.records import frozen
from amplint.model.rule_options import Option

__all__ = [
    "Check", "Confidence", "ERROR", "FLOAT16_TRAINING", "File", "Finding", "Found", "HIGH", "INFO", "LOW", "MEDIUM",
    "MIXED_PRECISION", "NOBODY_UNSCALES", "Option", "Rule", "Severity", "Statement", "TRAINING", "WARNING", "rule",
]  # fmt: skip


Check = Callable[[File], Iterator[Finding]]


class Severity(Enum):
    """What comes of a defect that stays, where the code runs as it is written.

    `ERROR`: the training goes wrong, or PyTorch raises. `WARNING`: it may, with some data, models or devices; or what is
    shown and saved of it is wrong. `INFO`: the results are right; it costs time or memory, or is a matter of style.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Confidence(Enum):
    """How much of what a finding rests on stands in the code.

    `HIGH`: all of it; a false finding is a bug of amplint. `MEDIUM`: it rests on what things are called, too, or on what code
    out of sight usually does. `LOW`: what decides is not in the code at all (data, device, purpose).
    """

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


ERROR, WARNING, INFO = Severity
HIGH, MEDIUM, LOW = Confidence


@frozen
class Rule:
    """A rule: its metadata and its check.

    `severity` says how bad the defect is, `confidence` how sure a finding of it, `since` the first version with the rule.
    `fix` is the best applicability its fixes reach (None: it never has one). `triggers` are regular expressions on
    identifiers, or on running text where they hold a `\\(`: only files, and top-level statements, in which one is found are
    parsed for the sake of this rule; the words of AMP itself (`amplint.python_ast.gate.AMP_WORDS`) always count.
    `amid` is such an expression on the text of a file, without which the triggers let no further file be parsed.
    `awaits` is a fact of the project without which the triggers let no further file be parsed: what the rule would find in one
    needs it.
    `keeps` are such expressions that keep statements of a file which is parsed anyway, and let no further file be parsed.
    `entered` is given where it makes a difference to the rule how other files enter the functions of a file: a regular
    expression on its text. If it is found, and functions are entered, the rule looks at the file for that reason alone; if it
    is empty, it looks only at files that it would look at anyway.
    `observable` is what a replay measures to prove a fix; without one, fixes are not replayed. `options` are what a project
    may choose; the rule asks `file.option`.
    `yields_to` is the code of a rule that says worse of the same code, in whose place this one is silent: with the other's
    defect repaired, what is left of it may be this one's.
    """

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    since: str
    check: Check = field(compare=False, repr=False)
    fix: Applicability | None = None
    default: bool = True
    triggers: tuple[str, ...] = ()
    amid: str = ""
    awaits: str = ""
    keeps: tuple[str, ...] = ()
    entered: str | None = None
    page: str = field(default="", compare=False, repr=False)
    module: str = ""
    observable: Observable | None = None
    options: tuple[Option[Any], ...] = ()
    yields_to: str = ""

    @property
    def category(self) -> str:
        """What the rule is about, which its code says (see `amplint.diagnostics.category`)."""
        return category(self.code)

    @property
    def summary(self) -> str:
        """The first line of the rule's page."""
        return self.page.partition("\n")[0].rstrip(".")

    def run(self, file: File) -> Iterator[Diagnostic]:
        """The rule's findings in a file, as diagnostics."""
        for found in told_once(self.check(file)):
            # A wrapper that comes with amplint is no code that anyone would want to see.
            related = tuple(other for other in found.related if not other.path.endswith(".pyi"))
            fix = found.fix if isinstance(found.fix, Fix) else None
            no_fix = found.fix.reason if isinstance(found.fix, NoFix) else ""
            yield Diagnostic(
                self.code, self.name, found.message, found.range, found.note, related, fix, found.needs,
                file.source.path, no_fix,
            )  # fmt: skip


def rule(
    code: str,
    name: str,
    severity: Severity,
    confidence: Confidence,
    since: str,
    *,
    fix: Applicability | None = None,
    default: bool = True,
    triggers: tuple[str, ...] = (),
    amid: str = "",
    awaits: str = "",
    keeps: tuple[str, ...] = (),
    entered: str | None = None,
    observable: Observable | None = None,
    options: tuple[Option[Any], ...] = (),
    yields_to: str = "",
) -> Callable[[Check], Rule]:
    """Make a check a rule; the docstring of its module becomes its page, the arguments what `Rule` says of them."""

    def wrap(check: Check) -> Rule:
        page = inspect.cleandoc(sys.modules[check.__module__].__doc__ or "")
        return Rule(
            code, str(name), severity, confidence, since, check, fix, default, triggers, amid, awaits, keeps, entered, page,
            check.__module__, observable, options, yields_to,
        )  # fmt: skip

    return wrap
