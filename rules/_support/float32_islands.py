"""A statement in a disabled autocast region of its own, on float32 operands."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.diagnostics import Edit
from amplint.rule import File

from .call_edits import quoted
from .float32_operands import widening

_LIGHT = frozenset("mean sum view reshape squeeze unsqueeze flatten float to contiguous detach item sigmoid".split())
"""Methods that do the same, or better, outside of autocast."""


def island(file: File, call: cst.CSTNode, operands: Sequence[cst.BaseExpression], device: str) -> tuple[Edit, ...]:
    """Put the statement of a call into a disabled region, its operands widened; empty where autocast would be missed."""
    line = file.editor.statement(call)
    if not isinstance(line, cst.SimpleStatementLine) or not _is_light(file, line, call):
        return ()
    first, last = file.editor.rows(line)
    start = file.source.line_starts[first - 1]
    text = file.editor.rows_text(first, last)
    inner = [edit for node in operands if not _is_float(node) for edit in widening(file, node)]
    for edit in sorted(inner, reverse=True):
        text = text[: edit.start - start] + edit.replacement + text[edit.end - start :]
    indent = file.editor.indent(line)
    spelling, imports = file.importer.get("torch.amp.autocast", call)
    header = f"{indent}with {spelling}({quoted(file, device)}, enabled=False):"
    rows = [header, *(file.editor.unit + row if row.strip() else row for row in text.splitlines())]
    return file.importer.joined([*imports, file.editor.replace_rows(first, last, rows)])


def _is_float(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "float"


def _is_light(file: File, line: cst.SimpleStatementLine, call: cst.CSTNode) -> bool:
    """Whether nothing but the call itself computes in the statement, and no text spans its rows."""
    for node in file.tree.find(cst.Call):
        if node is not call and line in file.tree.ancestors(node):
            if not isinstance(node.func, cst.Attribute) or node.func.attr.value not in _LIGHT:
                return False
    return '"""' not in file.tree.text(line) and "'''" not in file.tree.text(line)
