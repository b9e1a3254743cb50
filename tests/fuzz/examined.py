"""What amplint makes of one input: computed once, looked at by the oracles."""

from __future__ import annotations

import io
import tokenize
import warnings
from collections import Counter
from functools import cached_property
from pathlib import Path

from amplint.diagnostics import FileReport
from amplint.engine.checker import check_bytes, check_source, with_location, withdraw
from amplint.engine.config import Settings
from amplint.engine.fixer import FixOutcome, fix_source
from amplint.python_ast.gate import TooDeep, parse
from amplint.source import Source
from amplint.system.text_encoding import SourceError

from .cases import Case

NOWHERE = Path(__file__).resolve().parent / "nowhere"
"""A folder that does not exist: what an input imports lies nowhere."""
SETTINGS = Settings(NOWHERE, select=("ALL",))


class Examined:
    """One input under all rules, those that are off by default among them."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.path = NOWHERE / case.name
        self._fixed: dict[bool, FixOutcome] = {}

    @cached_property
    def source(self) -> Source | None:
        """The input as text; None when it is none."""
        try:
            return with_location(Source.from_bytes(self.case.name, self.case.data), SETTINGS, self.path)
        except SourceError:
            return None

    @cached_property
    def report(self) -> FileReport:
        """What there is to say about it when it is the only file of a run."""
        report = check_bytes(self.case.name, self.case.data, SETTINGS, self.path, explicit=True)
        return withdraw(report, report.facts)

    def lint(self, source: Source) -> FileReport:
        """What there is to say about a text in its place, under the facts that it establishes itself."""
        return withdraw(check_source(source, SETTINGS, self.path), self.report.facts)

    def fixed(self, unsafe: bool) -> FixOutcome:
        """What the fixes make of it."""
        if unsafe not in self._fixed:
            assert self.source is not None
            self._fixed[unsafe] = fix_source(self.source, self.lint, unsafe)
        return self._fixed[unsafe]

    @cached_property
    def fixable(self) -> bool:
        """Whether there is something to fix."""
        return self.source is not None and any(one.fix for one in self.report.diagnostics)

    @property
    def applied(self) -> Counter[str]:
        """The fixes that were applied, safe and unsafe ones, by code."""
        return self.fixed(True).applied if self.fixable else Counter()


def python_takes(data: bytes | str) -> bool:
    """Whether Python's own parser takes a file, bytes and all."""
    if isinstance(data, bytes) and not _decodes(data):  # `compile` overlooks that in comments, the interpreter does not
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(data, "<input>", "exec", 0x400, dont_inherit=True)  # ast.PyCF_ONLY_AST
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _decodes(data: bytes) -> bool:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        data.decode(encoding)
    except (SyntaxError, LookupError, UnicodeError):
        return False
    return True


def parses(text: str) -> bool:
    """Whether a text parses, as amplint sees it."""
    try:
        parse(text)
    except (SyntaxError, TooDeep):
        return False
    return True
