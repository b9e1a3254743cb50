"""The comments of a file, and which statement each of them stands at."""

from __future__ import annotations

import tokenize
from bisect import bisect_right
from collections.abc import Iterator

from amplint.model.records import NamedTuple
from amplint.source import Source

_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING}
_LINE_ENDS = {tokenize.NL, tokenize.NEWLINE}
# From Python 3.12 and 3.14 on; before, such a string is one token.
_STRING_STARTS = {getattr(tokenize, "FSTRING_START", None), getattr(tokenize, "TSTRING_START", None)}
_STRING_ENDS = {getattr(tokenize, "FSTRING_END", None), getattr(tokenize, "TSTRING_END", None)}


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


class CommentLayout(NamedTuple):
    """The comments of a file, in order; the rows of its logical lines; the rows at whose end a comment can stand, because no
    string and no backslash goes on in the next one. Of a broken file, what comes before the break."""

    comments: list[Comment]
    statements: list[range]
    open_rows: frozenset[int]

    def row_for(self, row: int) -> int:
        """The row at whose end a comment can stand that speaks of a row: that row, or the last one of its logical line."""
        around = (rows.stop - 1 for rows in self.statements if row in rows)
        return row if row in self.open_rows else next(around, row)


def layout(source: Source) -> CommentLayout:
    """What a file's tokens tell of its comments and lines."""
    found: list[tokenize.TokenInfo] = []
    statements: list[range] = []
    open_rows: set[int] = set()
    first, fresh, decorator, depth = 0, True, False, 0
    for token in _tokens(source):
        depth += (token.type in _STRING_STARTS) - (token.type in _STRING_ENDS)
        if token.type in _LINE_ENDS and not depth:
            open_rows.add(token.start[0])
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
    return CommentLayout([_comment(source, token, statements) for token in found], statements, frozenset(open_rows))


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
