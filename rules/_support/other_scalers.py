"""Objects that stand in the place of a scaler where AMP is off, and have no more methods than their author needed."""

from __future__ import annotations

import libcst as cst

from amplint.diagnostics import NoFix
from amplint.model.torch.names import GRAD_SCALER
from amplint.rule import File


def may_lack(file: File, scaler: cst.BaseExpression, method: str) -> NoFix | None:
    """The reason why a fix may not call a method of a scaler: an option chooses an object of a class without it.

    Args:
        file: the file.
        scaler: what names the scaler.
        method: the name of the method.
    """
    for value in file.callees.objects.held(scaler):
        info = file.classes.instance_of(value) if isinstance(value, cst.Call) else None
        if info is None or not info.closed or any(each.base_names & GRAD_SCALER for each in info.lineage):
            continue
        if info.method(method) is None:
            return NoFix(f"`{info.name}`, which may stand in the place of the scaler, has no `{method}`")
    return None
