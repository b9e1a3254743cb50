"""Where a value is computed, and who reads it: what the rules about numbers ask before they rewrite an expression."""

from __future__ import annotations

import libcst as cst

from amplint.diagnostics import Edit
from amplint.model.records import frozen
from amplint.rule import File


@frozen
class Origin:
    """The expression whose value another one reads.

    `edits` delete the statement that gives it a name, for a fix that puts the expression where the name is read.
    """

    node: cst.BaseExpression
    edits: tuple[Edit, ...] = ()


def only_origin(file: File, reader: cst.BaseExpression) -> Origin | None:
    """What `reader` stands for: itself, or what the statement before assigns to this name, if nothing else reads it."""
    if not isinstance(reader, cst.Name):
        return Origin(reader)
    bindings = file.names.bindings(reader.value, reader)
    if len(bindings) != 1 or bindings[0].value is None or mentions(file, reader) != 2:
        return None
    home, line = file.editor.statement(bindings[0].value), file.editor.statement(reader)
    if home is None or not isinstance(line, cst.SimpleStatementLine) or not _gives_one_name(home):
        return None
    siblings = list(file.editor.siblings(home))
    if siblings[siblings.index(home) + 1 :][:1] != [line] or "#" in file.editor.rows_text(*file.editor.rows(home)):
        return None
    return Origin(bindings[0].value, (file.editor.delete(home),))


def mentions(file: File, name: cst.Name) -> int:
    """How often the file names what a name stands for, assignments included."""
    bindings = file.names.bindings(name.value, name)
    found = [each for each in file.tree.find(cst.Name) if each.value == name.value and not is_label(file, each)]
    return sum(file.names.bindings(each.value, each) is bindings for each in found)


def is_label(file: File, name: cst.Name) -> bool:
    """Whether a name is that of an attribute or of a keyword."""
    parent = file.tree.parent(name)
    return (isinstance(parent, cst.Attribute) and parent.attr is name) or (
        isinstance(parent, cst.Arg) and parent.keyword is name
    )


def _gives_one_name(line: cst.CSTNode) -> bool:
    statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    return isinstance(statement.targets[0].target, cst.Name)
