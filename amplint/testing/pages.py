"""Reads a rule's page: the docstring of its module, in Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEADINGS = (
    "What it does",
    "Why it matters",
    "Example",
    "Use instead",
    "Fix safety",
    "Limitations",
    "References",
)

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Page:
    """A summary line, and sections by heading, in the order in which they stand."""

    summary: str
    sections: dict[str, str]

    def code(self, heading: str) -> list[str]:
        """The Python blocks of a section."""
        return [match[1] for match in _FENCE.finditer(self.sections[heading])]


def read_page(text: str) -> Page:
    """The page in a module's docstring."""
    head, *rest = _HEADING.split(text)
    return Page(head.strip(), {heading: body.strip() + "\n" for heading, body in zip(rest[::2], rest[1::2])})
