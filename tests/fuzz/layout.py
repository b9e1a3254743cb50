"""Ways to write a program down: encodings, byte order marks, line ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

Layout = Callable[[Random, str], bytes]

_COOKIES = """
latin-1 utf-8 utf8 ascii cp1252 iso-8859-15 koi8-r shift_jis euc_jp gbk big5 iso-2022-jp utf-7 utf-8-sig UTF-8-SIG
utf_16 cp037 mac_arabic rot13 unicode_escape klingon latin-1-unix utf-8-mac idna mbcs hz cp65001 raw_unicode_escape punycode
undefined
""".split()
_LINES = (
    "# -*- coding: {} -*-\n",
    "# coding={}\n",
    "#!/usr/bin/python\n# vim: set fileencoding={} :\n",
    "\n# coding: {}\n",
    "\n\n# coding: {}\n",
    "x = 1  # coding: {}\n",
)


def plain(random: Random, text: str) -> bytes:
    """UTF-8."""
    return _utf8(text)


def bom(random: Random, text: str) -> bytes:
    """A byte order mark, perhaps two of them."""
    return b"\xef\xbb\xbf" * random.choice((1, 1, 1, 2)) + _utf8(text)


def cookie(random: Random, text: str) -> bytes:
    """A coding cookie, most often the right one, and letters that only some encodings have."""
    encoding = random.choice(_COOKIES)
    text = (
        random.choice(_LINES).format(encoding)
        + random.choice(("", "# Größe\n", "# 変数\n", "s = 'é'\n", "größe = 1\n"))
        + text
    )
    actual = encoding if random.random() < 0.8 else random.choice(("utf-8", "latin-1"))
    mark = b"\xef\xbb\xbf" if random.random() < 0.15 else b""
    try:
        return mark + text.encode(actual)
    except (LookupError, UnicodeError):
        return mark + _utf8(text)


def wide(random: Random, text: str) -> bytes:
    """UTF-16 or UTF-32, which Python does not read."""
    return text.encode(random.choice(("utf-16", "utf-16-le", "utf-32")), "replace")


def windows(random: Random, text: str) -> bytes:
    """Carriage returns."""
    return _utf8(text.replace("\n", "\r\n"))


def macintosh(random: Random, text: str) -> bytes:
    """Lone carriage returns."""
    return _utf8(text.replace("\n", "\r"))


def mixed(random: Random, text: str) -> bytes:
    """All line ends there are."""
    some = random.choice((("\n", "\r\n"), ("\n", "\r\n", "\r"), ("\n", "\n", "\n", "\r"), ("\r\n", "\r\n", "\n")))
    return _utf8(re.sub("\n", lambda match: random.choice(some), text))


def open_end(random: Random, text: str) -> bytes:
    """No final newline, or an odd one."""
    return _utf8(
        text.rstrip("\n") + random.choice(("", "", "", " ", "\t", "\\", "\\\n", "\n\n\n", "\n    ", "\f", "\x1a", "#"))
    )


def odd_characters(random: Random, text: str) -> bytes:
    """Characters that other tools take for white space or for line ends, put anywhere."""
    for _ in range(random.choice((1, 1, 3))):
        at = random.randrange(len(text) + 1)
        if random.random() < 0.6:
            at = text.rfind("\n", 0, at) + 1
        text = text[:at] + random.choice("\f\f\f\v\x1c\x85\u2028\xa0\u200b\ufeff\u202e\x7f\x1b\t\r") + text[at:]
    return _utf8(text)


def damaged(random: Random, text: str) -> bytes:
    """Bytes that no text holds, or half a file."""
    data = bytearray(_utf8(text))
    at = random.randrange(len(data) + 1)
    match random.randrange(4):
        case 0:
            data[at:at] = b"\0"
        case 1:
            data[at:at] = bytes(random.randrange(256) for _ in range(random.choice((1, 4))))
        case 2:
            del data[at:]
        case _:
            data[at : at + 1] = bytes([random.randrange(256)])
    return bytes(data)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")


LAYOUTS: tuple[Layout, ...] = (
    bom,
    cookie,
    cookie,
    wide,
    windows,
    windows,
    macintosh,
    mixed,
    mixed,
    open_end,
    open_end,
    odd_characters,
    odd_characters,
    damaged,
)
"""All but the plain one."""
