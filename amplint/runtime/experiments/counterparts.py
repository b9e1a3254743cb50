"""Where a file with a repair speaks of the same object of torch's AMP again as the file without."""

from __future__ import annotations

import libcst as cst

from amplint.diagnostics import Diagnostic
from amplint.model.torch import names as torch_names
from amplint.rule import File

_NAMES = torch_names.AUTOCAST | torch_names.GRAD_SCALER | {
    f"torch.{module}.custom_{way}" for module in ("amp", "cuda.amp") for way in ("fwd", "bwd")
}  # fmt: skip
_Node = cst.Name | cst.Attribute


def constructed_again(before: File, after: File, diagnostic: Diagnostic) -> tuple[_Node, _Node] | None:
    """The use of a name that a diagnostic is about, and its counterpart in the file with the fix; None where they may mean
    several things.

    Args:
        before: the file as it stands.
        after: the file with the fix.
        diagnostic: the finding.
    """
    uses, others = _uses(before), _uses(after)
    place = next((index for index, node in enumerate(uses) if before.range(node) == diagnostic.range), None)
    if place is None or len(others) != len(uses):
        return None
    pair = uses[place], _again(before, after, uses, others, place)
    is_certain = all(len(file.names.resolve(node)) == 1 for file, node in zip((before, after), pair))
    return pair if is_certain else None


def _again(before: File, after: File, uses: list[_Node], others: list[_Node], place: int) -> _Node:
    """The counterpart of a use: what is made for the same name in the same function, else what stands in the same place."""
    role = _role(before, uses[place])
    mine = [each for each in uses if _role(before, each) == role]
    theirs = [each for each in others if _role(after, each) == role]
    return theirs[mine.index(uses[place])] if len(mine) == len(theirs) else others[place]


def _role(file: File, node: _Node) -> tuple[str, str]:
    """What something is made for: the function, and how the code writes what it is assigned to."""
    function, statement = file.tree.function(node), file.tree.enclosing(node, cst.Assign, cst.AnnAssign)
    targets = [each.target for each in statement.targets] if isinstance(statement, cst.Assign) else []
    targets += [statement.target] if isinstance(statement, cst.AnnAssign) else []
    name = function.name.value if isinstance(function, cst.FunctionDef) else ""
    return name, " = ".join(file.tree.text(each) for each in targets)


def _uses(file: File) -> list[_Node]:
    """Where a file speaks of AMP's classes, imports aside, in its order."""
    return sorted(file.names.references(_NAMES), key=file.tree.span)
