r"""Text of others, made safe to show: what a terminal or a log would take for something else is spelled out.

File names and code may come from people whom nobody vouches for. A terminal obeys escape sequences, a bidirectional control
turns the order in which a line is read, a line end begins a line that looks like one of ours, and a CI server takes some
words for commands. All of this is shown as `\x1b`, `\u202e`, `\n`, as git and rustc do. JSON has spellings of its own, and
stays exact.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # control characters
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # invisible: soft hyphen, joiners, fillers, marks
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, separators of lines and paragraphs, bidirectional controls
    "\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # shorthand, music, tags, variation selectors
    "\ud800-\udfff"  # unpaired surrogates: the bytes of a file name that are no text
    "]"
)
_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}

# GitHub takes `::` at the beginning of a line for a command, white space before it or not, and `##[` anywhere in a line;
# Azure Pipelines takes `##vso[`, and TeamCity `##teamcity[`. One character of these is spelled out.
_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#(?:vso|teamcity)?\[)")


def printable(text: str, tabs: bool = False) -> str:
    r"""A text of others as it may be shown, on one line.

    >>> print(printable("a\x1b[31m\u202eb\n::error::c"), printable("::error::d.py"))
    a\x1b[31m\u202eb\n::error::c \x3a:error::d.py

    Args:
        text: the text, whoever wrote it.
        tabs: whether tabs stay as they are, as in code.
    """
    if not (text.isascii() and text.isprintable()):
        text = _UNSAFE.sub(lambda match: "\t" if tabs and match[0] == "\t" else _spelled(match[0]), text)
    if "::" in text or "##" in text:
        text = _COMMAND.sub(lambda match: r"\x23" if match[1] is None else rf"{match[1]}\x3a", text)
    return text


def _spelled(character: str) -> str:
    code = ord(character)
    spelled = rf"\x{code:02x}" if code < 0x100 else rf"\u{code:04x}" if code < 0x10000 else rf"\U{code:08x}"
    return _SHORT.get(character, spelled)


def quoted_path(name: str) -> str:
    r"""A file name as it stands in a diff: one that could be misread is quoted as git quotes it, and `patch` reads it.

    >>> print(quoted_path("a b.py"), quoted_path("a\n\x1b.py"))
    a b.py "a\n\033.py"
    """
    if not (_UNSAFE.search(name) or '"' in name):
        return name
    return '"' + "".join(map(_in_c, name)) + '"'


def _in_c(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if not _UNSAFE.match(character):
        return character
    data = character.encode("utf-8", "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass")
    return _SHORT.get(character) or "".join(f"\\{byte:03o}" for byte in data)
