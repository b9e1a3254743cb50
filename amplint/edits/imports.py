"""How a fix gets at a name that the file may not import yet, and how it takes away an import that it made useless.

Both answer in edits. Edits of several fixes may be the same; applying them once is enough for all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

import libcst as cst

from amplint.diagnostics import Edit
from amplint.edits.unused_imports import Unimporter
from amplint.syntax.names import Names, dotted
from amplint.syntax.tree import Tree

_SYNONYMS = {"torch.amp.autocast": "torch.autocast", "torch.amp.GradScaler": "torch.GradScaler"}
"""Names that are the same object under a second public spelling."""

Spelling = tuple[str, tuple[Edit, ...]]


class Importer(Unimporter):
    """Finds or makes local spellings of qualified names, such as `torch.amp.autocast`; removes imports.

    Args:
        tree: the file to write imports for.
        names: what its names mean already.
    """

    def __init__(self, tree: Tree, names: Names) -> None:
        super().__init__(tree)
        self._names = names

    def get(self, qualified: str, at: cst.CSTNode) -> Spelling:
        """A spelling of `qualified` that is valid at `at`, and the edits (none, or one insertion) that make it so.

        What the file imports is used as it is; else a from-import of the same module is extended; else a line is added
        beside the other imports of the same package.

        Args:
            qualified: the full name, such as `torch.amp.autocast`.
            at: the node in whose place, or beside which, the spelling is to stand.
        """
        return self._reused(qualified, at) or self._extended(qualified, at) or self._added(qualified, at)

    def is_conditional(self, at: cst.CSTNode) -> bool:
        """Whether the name at `at` comes from an import that some `if` or `try` elsewhere may not have executed."""
        root = self.import_of(at)
        return root is not None and not self._dominates(root, at)

    def import_of(self, at: cst.CSTNode) -> cst.ImportAlias | None:
        """The import that binds the first name of an expression such as `amp.autocast`."""
        name = dotted(at).partition(".")[0]
        bindings = self._names.bindings(name, at) if name else []
        return next((each.node for each in bindings if isinstance(each.node, cst.ImportAlias)), None)

    def joined(self, edits: Iterable[Edit]) -> tuple[Edit, ...]:
        """Edits in order, each once; a line that is added where another one is removed takes its place."""
        found: list[Edit] = []
        for edit in sorted(set(edits), key=lambda each: (each.start, each.end)):
            inside = next(
                (each for each in found if each.start < each.end and each.start <= edit.start < each.end), None
            )
            added = found[-1] if found and found[-1].start == found[-1].end == edit.start < edit.end else None
            if inside is not None and edit.start == edit.end:
                found[found.index(inside)] = self._in_place(inside, edit)
            elif added is not None:
                found[-1] = self._in_place(edit, added)
            else:
                found.append(edit)
        return tuple(found)

    def _in_place(self, removal: Edit, added: Edit) -> Edit:
        head = self.source.text[removal.start : added.start]
        line = added.replacement.rstrip(" \t") if "\n" in added.replacement else added.replacement
        if removal.replacement == "pass":
            return Edit(removal.start, removal.end, head + line.rstrip("\r\n; "))
        return Edit(removal.start, removal.end, head + line + removal.replacement)

    # -- reusing -----------------------------------------------------------------------------------------------------

    def _reused(self, qualified: str, at: cst.CSTNode) -> Spelling | None:
        synonym = _SYNONYMS.get(qualified)
        found: list[str] = []
        for name, bindings in self._names.visible(at):
            aliases = [each.node for each in bindings if type(each.node) is cst.ImportAlias]
            meanings = self._names.meaning(name, at) if aliases else frozenset[str]()
            meaning = next(iter(meanings)) if len(meanings) == 1 else ""
            is_part = bool(meaning) and f"{qualified}.".startswith(f"{meaning}.")
            if (is_part or meaning == synonym) and any(self._reaches(each, at) for each in aliases):
                found.append(name if meaning == synonym else name + qualified[len(meaning) :])
        if dotted(at).startswith("torch.") and not self._names.bindings("torch", at):
            found.append(qualified)  # a star import brings `torch` here already
        # The full name reads best where `import torch` is there; then what is shortest.
        return (min(found, key=lambda each: (each != qualified, each.count("."), each)), ()) if found else None

    def _block(self, node: cst.CSTNode) -> cst.CSTNode:
        """The list of statements in which an import stands."""
        line = self._removal.line(node)
        return line if isinstance(line, cst.SimpleStatementSuite) else self._tree.parent(line) or self._tree.module

    def _reaches(self, alias: cst.ImportAlias, at: cst.CSTNode) -> bool:
        """Whether an import has surely been executed where `at` is."""
        root = self.import_of(at)
        together = root is not None and self._block(root) is self._block(alias) is not self._around(alias, at)
        return together or self._dominates(alias, at)

    def _dominates(self, alias: cst.ImportAlias, at: cst.CSTNode) -> bool:
        if self._around(alias, at) is None:
            return False
        later = self._names.scope(alias) is not self._names.scope(at)
        return later or self._tree.span(alias)[1] <= self._tree.span(at)[0]

    def _around(self, alias: cst.ImportAlias, at: cst.CSTNode) -> cst.CSTNode | None:
        """The block of an import, if `at` stands in it too, however deep."""
        block = self._block(alias)
        return block if any(above is block for above in self._tree.ancestors(at)) else None

    # -- extending ---------------------------------------------------------------------------------------------------

    def _extended(self, qualified: str, at: cst.CSTNode) -> Spelling | None:
        module, _, name = qualified.rpartition(".")
        if not self._is_free(name):
            return None
        for statement in self._tree.find(cst.ImportFrom):
            if isinstance(statement.names, cst.ImportStar) or statement.relative:
                continue
            if statement.module is None or dotted(statement.module) != module:
                continue
            last = statement.names[-1]
            if self._dominates(last, at):
                start, end = self._tree.span(last)
                row_start = self.source.line_starts[self.source.position(start).row - 1]
                indent = self.source.text[row_start:start]
                joint = f",{self.source.newline}{indent}" if indent.isspace() else ", "
                return name, (Edit(end, end, joint + name),)
        return None

    def _is_free(self, name: str) -> bool:
        """Whether the file neither binds nor mentions a name anywhere."""
        return not self.mentions[name] and not self._names.everywhere(name)

    # -- adding ------------------------------------------------------------------------------------------------------

    def _added(self, qualified: str, at: cst.CSTNode) -> Spelling:
        package = qualified.partition(".")[0]
        module, _, name = qualified.rpartition(".")
        whole = package if package == "torch" else module
        if all(each.qualified == package for each in self._names.everywhere(package)):
            return qualified, (self._line(f"import {whole}", package, at),)
        local, number = name, 1
        while not self._is_free(local):
            local, number = f"{package}_{name}" + (f"_{number}" if number > 1 else ""), number + 1
        alias = name if local == name else f"{name} as {local}"
        return local, (self._line(f"from {module} import {alias}", package, at),)

    def _line(self, text: str, package: str, at: cst.CSTNode) -> Edit:
        root = self.import_of(at)
        if root is not None and self._dominates(root, at):
            return self._before(self._first_of_package(root, package), text)
        return self._at_top(text, package, at)

    def _first_of_package(self, alias: cst.ImportAlias, package: str) -> cst.CSTNode:
        """The first statement of the same block that imports from the package; the import itself where there is none."""
        statement = self._removal.line(alias)
        for other in self._block(alias).children:
            if other is statement:
                break
            if isinstance(other, cst.SimpleStatementLine) and any(map(package.__eq__, _packages(other))):
                return other
        return statement

    def _before(self, statement: cst.CSTNode, text: str) -> Edit:
        start = self._tree.span(statement)[0]
        line = self.source.line_starts[self.source.position(start).row - 1]
        indent = self.source.text[line:start]
        joint = f"{self.source.newline}{indent}" if not indent.strip() else "; "
        return Edit(start, start, text + joint)

    def _at_top(self, text: str, package: str, at: cst.CSTNode) -> Edit:
        """A line at the head of the module, before the row of `at`."""
        source, newline = self.source, self.source.newline
        limit = source.position(self._tree.span(at)[0]).row
        head = [statement for statement in self._head if (statement.end_lineno or 0) < limit]
        beside = [each.lineno for each in head if package in _ast_packages(each)]
        if beside:
            start = source.line_starts[beside[0] - 1]
            return Edit(start, start, text + newline)
        if head:
            row = head[-1].end_lineno or 0
            gap = "" if _ast_packages(head[-1]) - {"__future__"} else newline
            if row < len(source.line_starts):
                start = source.line_starts[row]
                return Edit(start, start, gap + text + newline)
            return Edit(len(source.text), len(source.text), newline + gap + text)
        start = source.line_starts[self._first_row - 1]
        return Edit(start, start, text + newline * 2)

    @cached_property
    def _first_row(self) -> int:
        first = self.module.body[0]
        decorators: list[ast.expr] = getattr(first, "decorator_list", [])
        return min(first.lineno, *(each.lineno for each in decorators)) if decorators else first.lineno

    @cached_property
    def _head(self) -> list[ast.stmt]:
        """The docstring and the imports that a module begins with."""
        found: list[ast.stmt] = []
        for statement in self.module.body:
            docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant) and not found
            if not docstring and not isinstance(statement, (ast.Import, ast.ImportFrom)):
                break
            found.append(statement)
        return found


def _packages(line: cst.SimpleStatementLine) -> Iterator[str]:
    """The first parts of what a line imports."""
    for statement in line.body:
        if isinstance(statement, cst.Import):
            yield from (dotted(alias.name).partition(".")[0] for alias in statement.names)
        elif isinstance(statement, cst.ImportFrom) and statement.module and not statement.relative:
            yield dotted(statement.module).partition(".")[0]


def _ast_packages(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.Import):
        return {alias.name.partition(".")[0] for alias in statement.names}
    if isinstance(statement, ast.ImportFrom):
        return {"." if statement.level else (statement.module or "").partition(".")[0]}
    return set()
