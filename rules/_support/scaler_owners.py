"""Scalers that belong to a framework's object: it clips them itself, and unscales first."""

from __future__ import annotations

import libcst as cst

from amplint.diagnostics import SAFE, Fix
from amplint.rule import File, Found

from . import hazard_calls, insert_unscale


def clip(file: File, found: Found) -> Fix | None:
    """The owner's own clip of the same name instead (`accelerator.clip_grad_norm_`); None where it could unscale twice."""
    scaled, node = found.related.get("scaled"), found.node
    if not isinstance(scaled, cst.Call) or not isinstance(scaled.func, cst.Attribute) or not isinstance(node, cst.Call):
        return None
    if found.is_half:
        return None
    owner = scaled.func.value
    info = file.callees.objects.class_of(owner)
    name = (node.func.attr if isinstance(node.func, cst.Attribute) else node.func) if info is not None else None
    method = info.method(name.value) if info is not None and isinstance(name, cst.Name) else None
    if info is None or method is None or not _takes(method, node) or _asks_owner(file, node, owner):
        return None
    if _shares(file, found) or any(_unscales(file, node, owner, name) for name in info.methods):
        return None
    block = file.editor.block(file.editor.statement(node) or node)
    if block is None or block is not file.editor.block(file.editor.statement(scaled) or scaled):
        return None
    own = f"{file.tree.text(owner)}.{method.name.value}"
    return Fix(f"Replace with `{own}`, which unscales first", (file.editor.replace(node.func, own),), SAFE)


def _takes(method: cst.FunctionDef, call: cst.Call) -> bool:
    """Whether a method has a parameter for everything that a call gives."""
    names = [param.name.value for param in method.params.params][1:]
    keywords = [arg.keyword.value for arg in call.args if arg.keyword is not None]
    positional = len(call.args) - len(keywords)
    return not any(arg.star for arg in call.args) and positional <= len(names) and set(keywords) <= set(names)


def _shares(file: File, found: Found) -> bool:
    """Whether the same gradients are used while scaled at another place, too: the owner unscales all of them, once."""
    others = [other for kind in insert_unscale.KINDS for other in file.analysis.of(kind, elsewhere=True)]
    return any(other is not found and other.hazard.scaler == found.hazard.scaler for other in others)


def _unscales(file: File, node: cst.CSTNode, owner: cst.BaseExpression, method: str) -> bool:
    """Whether a method of the owner that unscales is called in the same function, too."""
    home = file.tree.enclosing(node, cst.FunctionDef) or file.tree.module
    calls = [call for call in file.tree.find(cst.Call, around=home) if isinstance(call.func, cst.Attribute)]
    texts = {file.tree.text(call.func) for call in calls}
    return ("clip" in method or "unscale" in method) and f"{file.tree.text(owner)}.{method}" in texts


def _asks_owner(file: File, node: cst.CSTNode, owner: cst.BaseExpression) -> bool:
    """Whether the owner decides about a block around a node: `with accelerator.accumulate(model):`."""
    entered = [item.item for above in file.tree.ancestors(node) if isinstance(above, cst.With) for item in above.items]
    calls = [each for each in entered if isinstance(each, cst.Call) and isinstance(each.func, cst.Attribute)]
    return any(hazard_calls.base_text(file, call) == file.tree.text(owner) for call in calls)
