"""The comments of a file, and which statement each of them stands at."""

from __future__ import annotations

import tokenize
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from amplint.source import Source

_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING}


class Comment(NamedTuple):
    """A comment from its `#` at offset `start` up to `end`.

    `target` are the rows of what it speaks of: the logical line on whose first or last row it stands, or its own row within a
    longer one; when it stands `alone` on its row, the next logical line, or the next row within one; None at the end of the file.
    """

    text: str
    row: int
    start: int
    end: int
    alone: bool
    target: range | None


def _tokens(source: Source) -> Iterator[tokenize.TokenInfo]:
    """Tokens up to the first that Python cannot read."""
    # Rows must be ours: Python's tokenizer does not take a lone carriage return for a line end.
    lines = (source.line(row) + "\n" for row in range(1, len(source.line_starts) + 1))
    try:
        yield from tokenize.generate_tokens(lambda: next(lines, ""))
    except (tokenize.TokenError, SyntaxError):
        return


def comments(source: Source) -> list[Comment]:
    """All comments of a file, in order; of a broken file, those before the break."""
    found: list[tokenize.TokenInfo] = []
    statements: list[range] = []
    first, fresh, decorator = 0, True, False
    for token in _tokens(source):
        if token.type == tokenize.COMMENT:
            found.append(token)
        elif token.type == tokenize.NEWLINE:
            if not decorator:  # a decorator and what it decorates are one statement to a reader
                statements.append(range(first, token.start[0] + 1))
                first = 0
            fresh = True
        elif fresh and token.type not in _NO_CODE:
            fresh, decorator = False, token.string == "@"
            first = first or token.start[0]
    return [_comment(source, token, statements) for token in found]


def _comment(source: Source, token: tokenize.TokenInfo, statements: list[range]) -> Comment:
    row, column = token.start
    start = source.offset(row, column)
    alone = not source.line(row)[:column].strip()
    index = bisect_right(statements, row, key=lambda rows: rows.start) - 1
    around = statements[index] if index >= 0 and row in statements[index] else None
    if alone:
        following = statements[index + 1] if index + 1 < len(statements) else None
        target = range(row + 1, row + 2) if around else following
    else:
        target = around if around and row in (around.start, around.stop - 1) else range(row, row + 1)
    return Comment(token.string, row, start, start + len(token.string), alone, target)
