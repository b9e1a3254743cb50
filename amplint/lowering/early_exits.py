"""Early exits: which `continue`, `break` and `return` may leave a scaler in the middle of its round."""

from __future__ import annotations

import re

import libcst as cst

from amplint.lowering.conditions import asks_for_trouble
from amplint.lowering.program import Program
from amplint.model.events import Leave
from amplint.syntax.access_paths import path_of
from amplint.syntax.words import words

_ALL_ERRORS = frozenset({"Exception", "BaseException"})
_ENDS = re.compile(r"stop|abort|halt|finish|done|exit|quit|kill|terminat|dry_?run", re.IGNORECASE)
_LOOPS = (cst.For, cst.While)


def exit_event(program: Program, node: cst.CSTNode) -> Leave | None:
    """The event of an exit, where it may leave a scaler in the middle of its round.

    Args:
        program: the file.
        node: the `continue`, the `break`, or the `return`.
    """
    branch = program.tree.enclosing(node, cst.If, cst.FunctionDef)
    handles = _is_in_handler(program, node)
    if not program.unscales or not (handles or isinstance(branch, cst.If)):
        return None
    bad = handles or (isinstance(branch, cst.If) and asks_for_trouble(branch.test))
    last = isinstance(branch, cst.If) and isinstance(node, cst.Return) and _is_amid_round(program, node, branch)
    if not (bad or last or not isinstance(node, cst.Return)):
        return None  # a helper that unscales may just return what it has done
    return Leave(program.site(node), bad, last and not program.callees.callers(program.tree.function(node)))


def _is_in_handler(program: Program, node: cst.CSTNode) -> bool:
    """Whether a jump leaves a handler of what the file itself raises."""
    around = program.tree.enclosing(node, cst.ExceptHandler, cst.FunctionDef, *_LOOPS)
    if not isinstance(around, cst.ExceptHandler):
        return False
    caught = set(words(around.type)) if around.type is not None else _ALL_ERRORS
    return bool(caught & (_ALL_ERRORS | program.raised))


def _is_amid_round(program: Program, node: cst.CSTNode, branch: cst.If) -> bool:
    """Whether a function that is one iteration returns between its `unscale_` and its `update` of a scaler that outlives it.

    Nothing else in the file updates that scaler, and nothing in the branch says that the training ends there.
    """
    tree, home = program.tree, program.tree.function(node)
    if not isinstance(home, cst.FunctionDef) or tree.enclosing(node, *_LOOPS, cst.FunctionDef) is not home:
        return False
    unscaled = {
        path_of(base) for call, base in program.flow.methods("unscale_") if _is_in(program, call, home, before=node)
    }
    updates = [(call, path_of(base)) for call, base in program.flow.methods("update") if path_of(base) in unscaled]
    inside = [path for call, path in updates if _is_in(program, call, home, after=node)]
    outlives = all(path.startswith("self.") or not _is_made_in(program, path, home) for path in inside)
    return len(inside) == len(updates) == 1 and outlives and not any(map(_ENDS.search, words(branch)))


def _is_in(
    program: Program,
    call: cst.Call,
    home: cst.FunctionDef,
    before: cst.CSTNode | None = None,
    after: cst.CSTNode | None = None,
) -> bool:
    """Whether a call stands in a function, outside of loops, before a node or after one."""
    tree = program.tree
    if tree.enclosing(call, *_LOOPS, cst.FunctionDef) is not home:
        return False
    if before is not None:
        return tree.order(call) < tree.order(before)
    return after is None or tree.order(after) < tree.order(call)


def _is_made_in(program: Program, path: str, home: cst.FunctionDef) -> bool:
    """Whether a function assigns the name that a path begins with."""
    bound = program.names.bindings_in(home).get(path.partition(".")[0].partition("[")[0], [])
    return any(not isinstance(each.node, cst.Param) for each in bound)
