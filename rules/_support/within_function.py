"""Puts a region inside a function: around its body, instead of around its calls."""

from __future__ import annotations

import libcst as cst

from amplint.diagnostics import Edit
from amplint.rule import File


def enter_within(file: File, function: cst.FunctionDef, context: str, comment: str = "") -> Edit | None:
    """Put the body of a function, but for its docstring, under `with context:`; None for a body on the line of its `def`."""
    body = function.body
    if not isinstance(body, cst.IndentedBlock):
        return None
    statements = [each for each in body.body if isinstance(each, (cst.SimpleStatementLine, cst.BaseCompoundStatement))]
    rest = statements[1:] if function.get_docstring(clean=False) is not None else statements
    if not rest or len(statements) != len(body.body):
        return None
    header = f"with {context}:{comment and '  ' + comment}"
    return file.editor.wrap(file.editor.first_row(rest[0]), file.editor.last_row(body), header)
