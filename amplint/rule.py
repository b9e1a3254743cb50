"""What a rule is, and what it may ask about a file.

A rule module holds a docstring (the rule's page), and one function decorated with `rule`:

    @rule("AMP101", "clip-before-unscale", fix=Applicability.SAFE, triggers=("clip_grad",))
    def check(file: File) -> Iterator[Finding]:
        ...

Rules hold no state; everything about a file is asked from `File`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from amplint.diagnostics import Applicability, Diagnostic
from amplint.edits.statements import Statement
from amplint.file import MIXED_PRECISION, File
from amplint.finding import Finding, told_once
from amplint.hazards.found import Found
from amplint.model.observables import Observable

__all__ = ["Check", "File", "Finding", "Found", "MIXED_PRECISION", "Rule", "Statement", "rule"]


Check = Callable[[File], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """A rule: its metadata and its check.

    `fix` is the best applicability its fixes reach (None: it never has one). `triggers` are regular expressions on
    identifiers, or on running text where they hold a `\\(`: only files, and top-level statements, in which one is found are
    parsed for the sake of this rule; the words of AMP itself (`amplint.python_ast.gate.AMP_WORDS`) always count.
    `observable` is what a replay measures to prove a fix; without one, fixes are not replayed.
    """

    code: str
    name: str
    check: Check = field(compare=False, repr=False)
    fix: Applicability | None = None
    default: bool = True
    triggers: tuple[str, ...] = ()
    page: str = field(default="", compare=False, repr=False)
    module: str = ""
    observable: Observable | None = None

    @property
    def summary(self) -> str:
        """The first line of the rule's page."""
        return self.page.partition("\n")[0].rstrip(".")

    def run(self, file: File) -> Iterator[Diagnostic]:
        """The rule's findings in a file, as diagnostics."""
        for found in told_once(self.check(file)):
            # A wrapper that comes with amplint is no code that anyone would want to see.
            related = tuple(other for other in found.related if not other.path.endswith(".pyi"))
            yield Diagnostic(
                self.code, self.name, found.message, found.range, found.note, related, found.fix, found.needs,
                file.source.path,
            )  # fmt: skip


def rule(
    code: str,
    name: str,
    *,
    fix: Applicability | None = None,
    default: bool = True,
    triggers: tuple[str, ...] = (),
    observable: Observable | None = None,
) -> Callable[[Check], Rule]:
    """Make a check a rule; the docstring of its module becomes its page.

    Args:
        code: the code, such as `AMP101`.
        name: what is wrong, in words that read well after "ignore".
        fix: the best applicability that its fixes reach; None where it has none.
        default: whether it runs unless it is selected.
        triggers: see `Rule`.
        observable: what a replay measures to prove a fix.
    """

    def wrap(check: Check) -> Rule:
        page = inspect.cleandoc(sys.modules[check.__module__].__doc__ or "")
        return Rule(code, name, check, fix, default, triggers, page, check.__module__, observable)

    return wrap
