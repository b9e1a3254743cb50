"""From the bytes of a Python file to its text, by byte order mark and coding cookie."""

from __future__ import annotations

import io

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SourceError(Exception):
    """The bytes are no Python source text; the message is one line without the path."""


def decoded(data: bytes) -> tuple[str, str]:
    """The text of a file without its byte order mark, and its encoding.

    Raises:
        SourceError: there are NUL bytes, or no encoding that fits.
    """
    if b"\0" in data:
        raise SourceError("contains NUL bytes")
    try:
        encoding = _encoding(data)
        encoding = "utf-8" if encoding == "utf-8-sig" else encoding
        return data.removeprefix(BYTE_ORDER_MARK).decode(encoding), encoding
    except (SyntaxError, LookupError) as error:
        raise SourceError(f"cannot be decoded: {str(error).splitlines()[0]}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot be decoded as {error.encoding}: {error.reason} at byte {error.start}") from error


def is_faithful(text: str, encoding: str, data: bytes) -> bool:
    """Whether a text, encoded, gives the bytes that it was read from.

    Args:
        text: the text.
        encoding: its encoding.
        data: the bytes.
    """
    try:
        return encoding == "utf-8" or text.encode(encoding) == data
    except UnicodeError:
        return False


def _encoding(data: bytes) -> str:
    """The encoding that the byte order mark or the coding cookie names; UTF-8 without either.

    Raises:
        SourceError: it has other bytes for ASCII, so that no cookie could name it.
        SyntaxError, LookupError: there is no such encoding.
    """
    stream = io.BytesIO(data)
    head = stream.readline() + stream.readline()
    if not head.startswith(BYTE_ORDER_MARK) and b"coding" not in head:
        return "utf-8"
    import tokenize  # most files have no cookie, and this module is slow to import

    encoding = tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    try:
        is_ascii_in_it = b"#\n".decode(encoding) == "#\n"
    except UnicodeError:  # some codecs raise no `UnicodeDecodeError`
        is_ascii_in_it = False
    if not is_ascii_in_it:
        raise SourceError(f"cannot be decoded: {encoding} is no encoding of Python code")
    return encoding
