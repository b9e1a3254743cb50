"""Recognises code that deals with several versions of PyTorch, and so names an old interface on purpose."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from amplint.model.torch import names as torch_names
from amplint.rule import File

from .conditions import parts_that_hold
from .protocol_edits import inside
from .torch_versions import passes

_ABOUT_VERSIONS = re.compile(
    r"version|torch_?(ge|gt|gte|le|lt|lte|min|greater|less|newer|older)|torch\w*\d", re.IGNORECASE
)
_MODERN = (
    torch_names.AUTOCAST_GENERIC
    | torch_names.GRAD_SCALER_GENERIC
    | {new.name for new in torch_names.DEPRECATED.values()}
)
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"})
_ABSENCE = frozenset({"AttributeError", "ImportError", "TypeError"})
_LISTING = (cst.List, cst.Tuple, cst.Set, cst.Element, cst.ComparisonTarget)
_LEAVES = (cst.Return, cst.Raise, cst.Continue, cst.Break)


def is_attempt(file: File, node: cst.CSTNode) -> bool:
    """Whether an import stands in the body of a `try` that has an answer to its failure."""
    below = node
    for above in file.tree.ancestors(node):
        if isinstance(above, (cst.FunctionDef, cst.ClassDef)):
            return False
        if isinstance(above, cst.Try) and below is above.body:
            return any(_catches(handler, _IMPORT_ERRORS) for handler in above.handlers)
        below = above
    return False


def expects_absence(file: File, node: cst.CSTNode) -> bool:
    """Whether an expression stands in the body of a `try` that expects a name or a parameter to be missing."""
    below = node
    for above in file.tree.ancestors(node):
        if isinstance(above, cst.Try) and below is above.body:
            if any(handler.type and _catches(handler, _ABSENCE) for handler in above.handlers):
                return True
        below = above
    return False


def is_recognised(file: File, node: cst.CSTNode) -> bool:
    """Whether a name is only compared with, or listed beside its modern counterpart: both are to be recognised."""
    listed: cst.CSTNode | None = None
    for above in file.tree.ancestors(node):
        if isinstance(above, cst.Comparison):
            return True
        if not isinstance(above, _LISTING):
            # `isinstance` takes the old classes for the new ones, whose subclasses they are.
            call = file.tree.parent(above) if isinstance(above, cst.Arg) else None
            asked = isinstance(call, cst.Call) and file.names.all_in(call.func, {"builtins.isinstance"})
            return listed is not None and not asked and _mentions_modern(file, listed)
        listed = above
    return False


def _mentions_modern(file: File, node: cst.CSTNode) -> bool:
    return any(above is node for name in file.names.references(_MODERN) for above in file.tree.ancestors(name))


def _catches(handler: cst.ExceptHandler, errors: frozenset[str]) -> bool:
    if handler.type is None:
        return True
    types = (
        [element.value for element in handler.type.elements] if isinstance(handler.type, cst.Tuple) else [handler.type]
    )
    return any(isinstance(each, cst.Name) and each.value in errors for each in types)


def is_fallback(file: File, node: cst.CSTNode) -> bool:
    """Whether a node is reached only where the modern interface was tried first, or by a test of the version that the newest
    PyTorch does not pass."""
    below = node
    for above in file.tree.ancestors(node):
        if isinstance(above, cst.Try) and below is not above.body and _tries_modern(file, above):
            return True
        if isinstance(above, (cst.If, cst.IfExp)) and below is not above.test and _is_passed_over(file, above, below):
            return True
        if isinstance(above, (cst.Module, cst.IndentedBlock)):
            if any(_leaves_by_version(file, each) for each in _before(above, below)):
                return True
        below = above
    return False


def is_passed_over(file: File, node: cst.CSTNode) -> bool:
    """Whether no PyTorch of today reaches a node: a test of the version keeps it out, or the import that it stands in for."""
    below = node
    for above in file.tree.ancestors(node):
        if isinstance(above, cst.If) and below is not above.test:
            if passes(file, above.test) is (below is above.orelse):
                return True
        if isinstance(above, cst.ExceptHandler):
            attempt = file.tree.parent(above)
            body = attempt.body.body if isinstance(attempt, cst.Try) else ()
            if all(_cannot_fail(file, each) for each in body):
                return True
        below = above
    return False


def _cannot_fail(file: File, statement: cst.CSTNode) -> bool:
    """Whether a statement does nothing but import what the newest PyTorch has, and note that it is there (`HAS_AMP = True`)."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    if not all(isinstance(small, cst.ImportFrom) or _sets_a_constant(small) for small in statement.body):
        return False
    names = list(file.tree.inside(statement, cst.ImportAlias))
    return all(torch_names.canonical(file.importer.imported(alias)) in torch_names.SINCE for alias in names)


def _sets_a_constant(statement: cst.CSTNode) -> bool:
    value = statement.value if isinstance(statement, (cst.Assign, cst.AnnAssign)) else None
    return isinstance(value, (cst.Name, cst.Integer, cst.SimpleString))


def _is_passed_over(file: File, choice: cst.If | cst.IfExp, side: cst.CSTNode) -> bool:
    """Whether a choice asks for the version of PyTorch, and the newest one does not clearly take this side."""
    if not _is_gate(file, choice.test):
        return False
    if side is choice.orelse:
        return passes(file, choice.test) is not False
    return any(_is_gate(file, part) and passes(file, part) is not True for part in parts_that_hold(choice.test))


def _tries_modern(file: File, attempt: cst.Try) -> bool:
    named: list[cst.CSTNode] = [*file.names.references(_MODERN)]
    named += [
        alias for alias in file.tree.find(cst.ImportAlias) if file.importer.imported(alias) in _MODERN | {"torch.amp"}
    ]
    return any(above is attempt.body for node in named for above in file.tree.ancestors(node))


def _before(block: cst.Module | cst.IndentedBlock, child: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for statement in block.body:
        if statement is child:
            return
        yield statement


def _leaves_by_version(file: File, statement: cst.CSTNode) -> bool:
    """Whether one side of a test of the version leaves, which the newest PyTorch does not clearly pass by."""
    if type(statement) is not cst.If or not _is_gate(file, statement.test):
        return False
    if _leaves(statement.body):
        return passes(file, statement.test) is not False
    other = statement.orelse
    return isinstance(other, cst.Else) and _leaves(other.body) and passes(file, statement.test) is not True


def _leaves(block: cst.BaseSuite) -> bool:
    last = block.body[-1] if isinstance(block, cst.IndentedBlock) and block.body else None
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], _LEAVES)


def _is_gate(file: File, test: cst.BaseExpression, depth: int = 2) -> bool:
    """Whether a condition asks for the version of PyTorch, or whether it has something."""
    for node in inside(test):
        if type(node) is cst.Name:
            if _ABOUT_VERSIONS.search(node.value):
                return True
            values = [binding.value for binding in file.names.bindings(node.value, node) if depth]
            if any(value is not None and _is_gate(file, value, depth - 1) for value in values):
                return True
        if type(node) is cst.Call and file.names.all_in(node.func, {"builtins.hasattr"}) and node.args:
            if any(name.partition(".")[0] == "torch" for name in file.names.resolve(node.args[0].value)):
                return True
    return False
