"""Text of others inside HTML."""

from __future__ import annotations

import html

from amplint.report.escape import printable


def escape(text: str) -> str:
    """A text for an element or an attribute of a page: no markup, and nothing that is hidden or turns the text around."""
    return html.escape(printable(text, tabs=True))
