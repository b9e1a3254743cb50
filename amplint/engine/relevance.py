"""Which files are worth a parse, and which rules look at them: what their bytes say about that."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from amplint.diagnostics import FileReport
from amplint.engine.config import Settings
from amplint.engine.registry import RuleInfo, rule_index
from amplint.engine.selection import active_codes, names
from amplint.model.records import NamedTuple
from amplint.python_ast import gate
from amplint.source import is_notebook

_PICTURE = re.compile(rb'"image/\w+": ?"[^"]*"')
"""A picture that a cell of a notebook has shown: most of the bytes of many a notebook, and no word among them."""


class _Triggers(NamedTuple):
    """What triggers some rules: one of `words`, where `amid` stands in the text, and if the project has the fact `awaits`."""

    amid: str
    awaits: str
    words: frozenset[str]

    def found(self, data: bytes) -> bool:
        """Whether a text triggers one of the rules; of the fact nothing is asked."""
        return gate.is_triggered(data, self.words) and (
            not self.amid or bytes_pattern(self.amid).search(data) is not None
        )


def matters(data: bytes, settings: Settings) -> bool:
    """Whether a file of these bytes may hold anything to report, its syntax aside.

    Args:
        data: the content.
        settings: those that hold for the file; they say which rules run.
    """
    if data.startswith(b"{"):
        data = _PICTURE.sub(b"", data)
    if gate.may_matter(data) or any(each.found(data) for each in _triggers(settings)):
        return True
    # A suppression comment may turn out to be unused in a file that holds nothing else of interest.
    return suppresses(data) and _may_suppress(data)


def awaited(data: bytes, settings: Settings, path: str) -> str:
    """The fact that must be established before a parse of a file that matters is worth it; empty where it is anyway.

    It is worth it at once where the file may establish facts itself, or may enter a region that it does not name.

    Args:
        data: the content.
        settings: those that hold for the file; they say which rules run.
        path: the file.
    """
    triggers = _triggers(settings)
    facts = frozenset(each.awaits for each in triggers if each.awaits)
    if not facts or is_notebook(path) or gate.may_matter(data) or (suppresses(data) and _may_suppress(data)):
        return ""
    if gate.propagates(data) or gate.enters_named_context(data):
        return ""
    if any(each.found(data) for each in triggers if not each.awaits):
        return ""
    if len(facts) > 1:  # else it is the one, for nothing besides makes the file matter
        facts = frozenset(each.awaits for each in triggers if each.awaits and each.found(data))
    return next(iter(facts)) if len(facts) == 1 else ""


def suppresses(data: bytes) -> bool:
    """Whether a file holds a word of suppression comments."""
    return b"amplint" in data or b"noqa" in data.lower()


def _may_suppress(data: bytes) -> bool:
    """Whether a file may hold a suppression comment that speaks of amplint."""
    data = data.lower()
    if re.search(rb"amplint\s*:", data):
        return True
    # What follows on the line is taken at once, so that a line of nothing but `noqa` is gone over once.
    return any(_code().search(match.group()) for match in re.finditer(rb"noqa(?<=\bnoqa)\b[^\n]*", data))


def called_for(rules: Sequence[RuleInfo], data: bytes) -> list[RuleInfo]:
    """Those of several rules that look at a text: all of them where a word of AMP stands, else those that it triggers.

    Of the others each would leave the text alone if it ran by itself, and what it finds must not hang on who runs beside it.

    Args:
        rules: the rules.
        data: the text.
    """
    if gate.may_matter(data):
        return [*rules]
    return [
        rule
        for rule in rules
        if gate.is_triggered(data, rule.triggers) and (not rule.amid or bytes_pattern(rule.amid).search(data))
    ]


def heeding(data: bytes, before: FileReport, losses: bool) -> list[RuleInfo]:
    """The rules to which it may make a difference how a file of these bytes is entered.

    Args:
        data: the content.
        before: the report on the file without how it is entered.
        losses: whether it is told which losses of PyTorch it calls, which stands in no word of its text.
    """
    asking, found = _asking(data), {diagnostic.code for diagnostic in before.diagnostics}
    return [
        rule
        for rule in rule_index()
        if rule.entered == "" or rule in asking or (rule.entered and (losses or rule.code in found))
    ]


def is_concerned(data: bytes, settings: Settings, path: Path) -> bool:
    """Whether any rule asks how other files enter a file of these bytes.

    Args:
        data: the content.
        settings: those that hold for the file.
        path: where it lies.
    """
    return any(rule.code in active_codes(settings, path, rule_index()) for rule in _asking(data))


@lru_cache(maxsize=512)
def _asking(data: bytes) -> tuple[RuleInfo, ...]:
    """The rules that ask how other files enter a file of these bytes; many a file leads to the same ones."""
    return tuple(rule for rule in rule_index() if rule.entered and _is_found(rule.entered, data))


def _is_found(pattern: str, data: bytes) -> bool:
    """Whether a pattern is found in a text; a literal of it is looked for first, and most patterns are not even compiled."""
    return gate.may_trigger(data, pattern) and bytes_pattern(pattern).search(data) is not None


@lru_cache(maxsize=1)
def _code() -> re.Pattern[bytes]:
    prefixes = sorted({code.rstrip("0123456789") for code in names(rule_index())})
    return re.compile(rf"\b(?:{'|'.join(prefixes)})\d".encode(), re.IGNORECASE)


@lru_cache(maxsize=64)
def _triggers(settings: Settings) -> tuple[_Triggers, ...]:
    """What triggers the rules that run; first what asks for nothing besides."""
    index = rule_index()
    active = active_codes(replace(settings, per_file_ignores=()), settings.root, index)
    running = [rule for rule in index if rule.code in active]
    kinds = sorted({("", ""), *((rule.awaits, rule.amid) for rule in running)})
    return tuple(
        _Triggers(
            amid,
            awaits,
            frozenset(word for rule in running if (rule.awaits, rule.amid) == (awaits, amid) for word in rule.triggers),
        )
        for awaits, amid in kinds
    )


@lru_cache(maxsize=64)
def bytes_pattern(text: str) -> re.Pattern[bytes]:
    """A pattern of a rule, to be looked for in the bytes of a file."""
    return re.compile(text.encode())
