"""What the rules about the GradScaler protocol share: how a hazard is spelled in its file, and where its fix may stand."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import libcst as cst

from amplint.diagnostics import OUTSIDE, Fix, NoFix, Range, Related
from amplint.rule import File, Found

_GUARDS = (cst.If, cst.For, cst.While, cst.Try, cst.Match, cst.Else)


def only(nodes: Iterable[cst.Call]) -> cst.Call | None:
    """The only call there is; None for none and for several."""
    all_ = list(dict.fromkeys(nodes))
    return all_[0] if len(all_) == 1 else None


def guards(file: File, node: cst.CSTNode, common: cst.CSTNode) -> list[cst.CSTNode]:
    """The branches and loops between `node` and `common` (a block around it): what may keep `node` from running."""
    found: list[cst.CSTNode] = []
    for above in file.tree.ancestors(node):
        if above is common:
            break
        if isinstance(above, _GUARDS):
            found.append(above)
    return found


def asks_for_amp(file: File, guard: cst.CSTNode) -> bool:
    """Whether a branch asks nothing but whether AMP is on."""
    statement = file.tree.parent(guard) if isinstance(guard, cst.Else) else guard
    return statement in file.analysis.amp_tests


def varies(file: File, guard: cst.CSTNode) -> bool:
    """Whether a branch may be taken in one iteration and not in the next."""
    statement = file.tree.parent(guard) if isinstance(guard, cst.Else) else guard
    return isinstance(statement, (cst.Try, cst.Match)) or statement in file.analysis.varying_tests


def before_loops(file: File, node: cst.CSTNode, block: cst.CSTNode) -> cst.CSTNode:
    """The outermost loop around `node` inside `block` (a loop over parameters, say), or else `node` itself."""
    loops = [guard for guard in guards(file, node, block) if isinstance(guard, (cst.For, cst.While))]
    return loops[-1] if loops else node


def common_block(file: File, first: cst.CSTNode, second: cst.CSTNode) -> cst.CSTNode | None:
    """The innermost block that holds both nodes."""
    around = [above for above in file.tree.ancestors(first) if isinstance(above, (cst.IndentedBlock, cst.Module))]
    other = set(file.tree.ancestors(second))
    return next((block for block in around if block in other), None)


def holds(file: File, block: cst.CSTNode | None, node: cst.CSTNode) -> bool:
    """Whether a node stands inside a block."""
    return block is not None and any(above is block for above in file.tree.ancestors(node))


def receiver(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The object that a method is called on; None for what is no call of a method."""
    return node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None


def method(node: cst.CSTNode | None) -> str:
    """The name of the method that a node calls; empty for what is no call of a method."""
    return node.func.attr.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else ""


def base_text(file: File, call: cst.Call) -> str:
    """The object that a method is called on, as written."""
    assert isinstance(call.func, cst.Attribute)
    return file.tree.text(call.func.value)


def argument_text(file: File, call: cst.Call) -> str:
    """The first argument of a call, as written."""
    return file.tree.text(call.args[0].value)


def related(file: File, found: Found, **labels: str) -> tuple[Related, ...]:
    """The second locations of a hazard: label -> what happens there."""
    places = [
        *((found.related.get(label), message) for label, message in labels.items()),
        (found.origin, OUTSIDE if found.is_half else "the defect is here"),
    ]
    told = found.node if found.is_half else None
    return tuple(place for node, message in places if node is not told for place in file.related(message, node))


def mended(file: File, found: Found, mend: Callable[[File, Found], Fix | NoFix | None], otherwise: str) -> Fix | NoFix:
    """The repair of a hazard whose halves are both in this file; where there is none, the reason.

    Args:
        file: the file.
        found: the hazard.
        mend: makes the repair.
        otherwise: why it may make none, in half a sentence.
    """
    if not found.whole:
        return NoFix("a part of the defect is in another file")
    repair = mend(file, found)
    return NoFix(otherwise) if repair is None else repair


def defect(found: Found) -> Hashable:
    """What several calls of one helper share that lead to a hazard in another file; None where it happens in this one.

    After another backward pass or step it is another defect.
    """
    if found.origin is None:
        return None
    return found.origin, found.hazard.scaler, frozenset(found.related.values())


def callee_range(file: File, call: cst.CSTNode) -> Range:
    """The smallest range that shows a call: what is called."""
    return file.range(call.func if isinstance(call, cst.Call) else call)
