"""Passes that stop at tensors cut out of the graph, whose gradients another pass hands on: gradients are cached so."""

from __future__ import annotations

import libcst as cst

from amplint.rule import File


def fills_cache(file: File, backward: cst.CSTNode) -> bool:
    """Whether a loss is computed from a tensor that is cut out of the graph, and whose gradient the function reads afterwards.

    Such a pass gives no parameter a gradient: `reps = reps.detach().requires_grad_()` before `loss(reps).backward()`, and
    `reps.grad` in the loss of the pass that does.

    Args:
        file: the file.
        backward: the call of `backward`.
    """
    home = file.tree.function(backward) or file.tree.module
    cut = {
        target.target.value
        for assign in file.tree.inside(home, cst.Assign)
        for target in assign.targets
        if isinstance(target.target, cst.Name) and ".requires_grad_(" in file.tree.text(assign.value)
    }
    read = {
        each.value.value
        for each in file.tree.inside(home, cst.Attribute)
        if each.attr.value == "grad"
        and isinstance(each.value, cst.Name)
        and file.tree.order(each) > file.tree.order(backward)
    }
    loss = backward.func.value if isinstance(backward, cst.Call) and isinstance(backward.func, cst.Attribute) else None
    bindings = file.names.bindings(loss.value, loss) if isinstance(loss, cst.Name) else []
    assigns = (file.tree.enclosing(each.node, cst.Assign) for each in bindings if each.node is not None)
    used = {name.value for assign in assigns if assign is not None for name in file.tree.inside(assign, cst.Name)}
    return bool(cut & read & used)
