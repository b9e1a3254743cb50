"""Syntax of a newer Python than the running one, in older words of the same length, so that every place stays what it is.

Type parameters are left out, `type X = int` becomes two statements, `except A, B` a union, a template string an f-string, and
in the fields of f-strings other quotes are used; f-strings whose fields go over several lines become calls. What is said of
types is no concern of amplint; all else keeps its meaning.
"""

from __future__ import annotations

import re

from amplint.model.records import NamedTuple

_OPENING = re.compile(r"""#.*|(?<!\w)(?:[fFtTrRbBuU]{0,2})('''|\"""|'|")""")
_IN_FIELD = re.compile(r"""(?<!\w)(?:[fFtTrRbBuU]{0,2})('''|\"""|'|")|[][(){}:!#\n]|(?<=!)=""")
_TYPE = re.compile(r"^[ \t]*type( )[ \t]*\w+[ \t]*(?:\[|=)", re.MULTILINE)
_LAZY = re.compile(r"^[ \t]*lazy( )[ \t]*(?:import|from)\b", re.MULTILINE)
_STAR = re.compile(r"\bexcept[ \t]*(\*)")
_SEVERAL = re.compile(r"\bexcept[ \t]+([\w.]+[ \t]*(?:,[ \t]*[\w.]+[ \t]*)+):")
_PARAMETERS = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class|type[ \t;])[ \t]*\w+[ \t]*(\[)", re.MULTILINE)
_BRACKET = re.compile(r"[][]")
_DEEPEST = 20


class _Unreadable(Exception):
    """It is no Python, or cannot be said in older words."""


def in_older_words(text: str) -> str:
    """A text of the same length and rows that an older Python may read; the text itself where there is nothing to replace.

    It is meant for what Python has refused: of other texts it would change strings.
    """
    try:
        return _Translation(text).done()
    except _Unreadable:
        return text


class _Field(NamedTuple):
    """A field of an f-string: where what it computes ends, and the place behind its brace."""

    end: int
    after: int


class _Translation:
    """The characters of a text as they are replaced, and the text without what stands in strings and comments."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._out = list(text)
        self._code = list(text)

    def done(self) -> str:
        """The text in older words.

        Raises:
            _Unreadable: it has none.
        """
        position = 0
        while found := _OPENING.search(self._text, position):
            position = found.end() if found[1] is None else self._string(found)
            self._code[found.start() : position] = _blank(self._text[found.start() : position])
        code = "".join(self._code)
        for pattern, word in ((_TYPE, ";"), (_LAZY, ";"), (_STAR, " ")):
            for match in pattern.finditer(code):
                self._out[match.start(1)] = word
        for match in _SEVERAL.finditer(code):
            for at in range(*match.span(1)):
                self._out[at] = "|" if code[at] == "," else self._out[at]
        pairs = _pairs(code)
        for match in _PARAMETERS.finditer(code):
            self._leave_out(match.start(1), pairs.get(match.start(1), match.start(1)))
        return "".join(self._out)

    def _leave_out(self, start: int, end: int) -> None:
        """Blank what stands between two places; a line that ends there goes on."""
        for at in range(start, end):
            if self._text[at] not in "\r\n":
                self._out[at] = "\\" if self._text[at + 1 : at + 2] in ("\r", "\n") else " "

    def _string(self, opening: re.Match[str], depth: int = 0) -> int:
        """Where a string ends that begins here; what stands in the fields of an f-string is put in older words.

        Args:
            opening: its prefix and its first quote.
            depth: how many f-strings it stands in.
        """
        prefix = opening[0][: -len(opening[1])].lower()
        if depth > _DEEPEST:
            raise _Unreadable
        if "t" in prefix:
            self._out[opening.start() + prefix.index("t")] = "f"
        stop = re.compile(r"\\.|\{\{|\{|" + opening[1] if {*prefix} & {*"ft"} else r"\\.|" + opening[1], re.DOTALL)
        position = opening.end()
        fields: list[range] = []
        while found := stop.search(self._text, position):
            if found[0] == opening[1]:
                if len(opening[1]) == 1 and any("\n" in self._text[each.start : each.stop] for each in fields):
                    self._take_apart(opening.start(), found.end(), fields, depth)
                return found.end()
            position = found.end()
            if found[0] == "{":
                told = self._field(position, opening[1][0], depth)
                fields.append(range(position, told.end))
                position = told.after
        raise _Unreadable

    def _take_apart(self, start: int, end: int, fields: list[range], depth: int) -> None:
        """Write an f-string whose fields go over several lines as calls of what stands in them: `f"{a} of {b}"` as `((a)(b))`."""
        if depth:
            raise _Unreadable
        inside = {at for each in fields for at in each}
        for at in range(start, end):
            if at not in inside and self._text[at] not in "\r\n":
                self._out[at] = " "
        for each in fields:
            self._out[each.start - 1], self._out[each.stop] = "(", ")"
        self._out[start], self._out[end - 1] = "(", ")"

    def _field(self, position: int, quote: str, depth: int) -> _Field:
        """Where a field of an f-string ends; the strings in it get other quotes than that one."""
        brackets, in_format, end = 0, False, -1
        while found := _IN_FIELD.search(self._text, position):
            sign, position = found[0], found.end()
            if found[1] is not None and not in_format:
                position = self._string(found, depth + 1)
                self._requote(found, position, quote, depth)
            elif sign == "{" and in_format:
                position = self._field(position, quote, depth).after
            elif sign in ("(", "[", "{"):
                brackets += 1
            elif sign == "}" and brackets == 0:
                return _Field(found.start() if end < 0 else end, position)
            elif sign in (")", "]", "}"):
                brackets -= 1
            elif sign == ":" and brackets == 0 and not in_format:
                in_format, end = True, found.start() if end < 0 else end
            elif sign == "!" and brackets == 0 and not in_format and self._text[position : position + 1] != "=":
                end = found.start()
            elif sign == "#" and not in_format:
                break
        raise _Unreadable

    def _requote(self, opening: re.Match[str], end: int, quote: str, depth: int) -> None:
        """Write a string in a field with the other quotes, and without what an older Python has not there."""
        inside = self._text[opening.end() : end - len(opening[1])]
        if opening[1][0] != quote and not {quote, "\\"} & {*inside}:
            return
        is_format = bool({*opening[0].lower()} & {*"ft"})
        if depth or len(opening[1]) == 3 or is_format and quote in self._out[opening.end() : end - 1]:
            raise _Unreadable
        other = "'" if quote == '"' else '"'
        for at in range(opening.end(), end - 1):
            self._out[at] = (
                "_" if self._out[at] in ("\\", quote) or not is_format and self._out[at] == other else self._out[at]
            )
        self._out[opening.end() - 1] = self._out[end - 1] = other


def _pairs(code: str) -> dict[int, int]:
    """Where each square bracket begins that stands in no other, and behind which one it ends."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for bracket in _BRACKET.finditer(code):
        if bracket[0] == "[":
            opened.append(bracket.start())
        elif len(opened) == 1:
            found[opened.pop()] = bracket.end()
        elif opened:
            opened.pop()
    return found


def _blank(text: str) -> list[str]:
    return [sign if sign in "\r\n" else " " for sign in text]
