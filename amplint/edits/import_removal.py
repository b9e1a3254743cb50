"""The edit that takes one import out of a text, with its name or its statement, and keeps every comment."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from amplint.diagnostics import Edit
from amplint.syntax.tree import Tree

_COMMENT = re.compile(r"#[^\r\n]*")

Import = cst.ImportAlias | cst.ImportFrom
"""One imported name, or the statement of a star import."""


class ImportRemoval:
    """Takes imports out of a file."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._source = tree.source

    def edits(self, what: Import) -> tuple[Edit, ...]:
        """The edit that removes an import; none where a comment would lose its place."""
        if self._holds_comments_amid_a_line(what):
            return ()
        if isinstance(what, cst.ImportFrom):
            return (self._without_statement(what),)
        statement = self._tree.parent(what)
        assert isinstance(statement, (cst.Import, cst.ImportFrom)) and not isinstance(statement.names, cst.ImportStar)
        if len(statement.names) > 1:
            return (self._without_name(statement, statement.names, statement.names.index(what)),)
        return (self._without_statement(statement),)

    def line(self, node: cst.CSTNode) -> cst.CSTNode:
        """The line, or the one-line suite, that holds an import."""
        found = self._tree.enclosing(node, cst.SimpleStatementLine, cst.SimpleStatementSuite)
        assert found is not None
        return found

    def _holds_comments_amid_a_line(self, what: Import) -> bool:
        """Whether there would be no place for the comments inside an import that shares its line."""
        line = self.line(what)
        assert isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite))
        start, end = self._tree.span(line)
        shared = len(line.body) > 1 or isinstance(line, cst.SimpleStatementSuite)
        return shared and _COMMENT.search(self._source.text, start, end) is not None

    # -- one name of several -----------------------------------------------------------------------------------------

    def _without_name(
        self, statement: cst.Import | cst.ImportFrom, aliases: Sequence[cst.ImportAlias], index: int
    ) -> Edit:
        # All of the statement, so that no two of its names are removed in one round, which could leave none.
        first, last = self._tree.span(statement)
        in_rows = isinstance(statement, cst.ImportFrom) and self._tree.as_written(statement).lpar is not None
        cut = self._cut(aliases, index, in_rows)
        text = self._source.text
        return Edit(first, last, text[first : cut.start] + text[cut.end : last])

    def _cut(self, aliases: Sequence[cst.ImportAlias], index: int, in_rows: bool) -> Edit:
        text = self._source.text
        start, end = self._tree.span(aliases[index])
        row = self._source.position(start).row
        line_start = self._source.line_starts[row - 1]
        line_end = line_start + len(self._source.line(row))
        rest = re.match(r"[ \t]*,?[ \t]*", text[end:line_end])
        after = end + (rest.end() if rest else 0)
        first = in_rows and text[line_start:start].isspace()
        if first and after == line_end:
            return Edit(line_start, self._source.line_starts[row], "")
        if first and text[after] == "#":
            return Edit(start, after, "")
        if index + 1 < len(aliases):
            following = self._tree.span(aliases[index + 1])[0]
            return Edit(start, after if "#" in text[end:following] else following, "")
        before = self._tree.span(aliases[index - 1])[1]
        return Edit(line_start if first else start, end, "") if "#" in text[before:start] else Edit(before, end, "")

    # -- a statement of its own --------------------------------------------------------------------------------------

    def _without_statement(self, small: cst.Import | cst.ImportFrom) -> Edit:
        text = self._source.text
        start, end = self._tree.span(small)
        line = self._tree.parent(small)
        assert isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite))
        if len(line.body) > 1:
            index = list(line.body).index(small)
            if index + 1 < len(line.body):
                return Edit(start, self._tree.span(line.body[index + 1])[0], "")
            return Edit(self._tree.span(line.body[index - 1])[1], end, "")
        block = self._tree.parent(line)
        alone = isinstance(block, cst.IndentedBlock) and len(block.body) == 1
        comments = _COMMENT.findall(text[start:end])
        if alone or isinstance(line, cst.SimpleStatementSuite):
            comments.append("pass")
        elif isinstance(line, cst.SimpleStatementLine) and self._tree.as_written(line).trailing_whitespace.comment:
            end = text.index("#", end)
            comments.append("")
        elif not comments:
            return self._without_rows(self._source.position(start).row, self._source.position(end).row)
        joint = self._source.newline + self._source.indent(self._source.position(start).row)
        return Edit(start, end, joint.join(comments))

    def _without_rows(self, first: int, last: int) -> Edit:
        """Delete whole rows, with the blank rows that would be left doubled, or at the head of a block."""
        source, count = self._source, len(self._source.line_starts)

        def blank(row: int) -> bool:
            return 1 <= row <= count and not source.line(row).strip()

        if blank(last + 1):
            if first == 1 or source.line(first - 1).rstrip().endswith(":"):
                while blank(last + 1) and last + 1 < count:
                    last += 1
            else:
                while blank(first - 1):
                    first -= 1
        end = source.line_starts[last] if last < count else len(source.text)
        return Edit(source.line_starts[first - 1], end, "")
