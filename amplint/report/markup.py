"""What all pages share: how they begin, their style, and text of others inside HTML."""

from __future__ import annotations

import html
from importlib.resources import files

from amplint.report.escape import printable


def escape(text: str) -> str:
    """A text for an element or an attribute of a page: no markup, and nothing that is hidden or turns the text around."""
    return html.escape(printable(text, tabs=True))


def opening(title: str, scripts: str = "") -> str:
    """The beginning of a page that needs nothing from outside, up to its body.

    Args:
        title: the title of the window.
        scripts: elements with the scripts that the page is to run; without them it may run none.
    """
    style = files(__package__).joinpath("page.css").read_text("utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    policy += "; script-src 'unsafe-inline'; img-src data:" if scripts else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n{scripts}</head>\n<body>\n"
    )


def prose(text: str) -> str:
    """Running text, with what stands between backticks as code."""
    parts = escape(text).split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
