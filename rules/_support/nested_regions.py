"""Where an autocast region may find itself inside another one."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.model.torch import names as torch_names
from amplint.model.torch.precision import FLOAT16, named
from amplint.rule import File

from .call_edits import keyword, positionals

_CALLED_BY_MODULES = frozenset({"forward", "__call__", "training_step", "validation_step", "test_step", "predict_step"})
"""Methods that frameworks and modules call, within regions that this file does not show."""

_SETTERS = frozenset({"torch.set_autocast_dtype", "torch.set_autocast_gpu_dtype", "torch.set_autocast_cpu_dtype"})


def may_be_nested(file: File, call: cst.Call) -> bool:
    """Whether the region that `call` makes may be entered inside a region of another dtype.

    So it may as a decorator, in a module's `forward`, in the text of another region, and in a file that has regions of
    a dtype of their own.
    """
    below: cst.CSTNode = call
    for above in file.tree.ancestors(call):
        if isinstance(above, cst.Decorator):
            return True
        if (
            isinstance(above, cst.With)
            and below is above.body
            and any(_has_region(file, item.item) for item in above.items)
        ):
            return True
        if isinstance(above, cst.FunctionDef):
            if above.name.value in _CALLED_BY_MODULES or any(
                _has_region(file, each.decorator) for each in above.decorators
            ):
                return True
        below = above
    return any(True for _ in file.names.references(_SETTERS)) or any(_own_dtypes(file))


def _has_region(file: File, expression: cst.CSTNode) -> bool:
    return any(
        above is expression
        for node in file.names.references(torch_names.AUTOCAST)
        for above in [node, *file.tree.ancestors(node)]
    )


def _own_dtypes(file: File) -> Iterator[bool]:
    for node in file.names.references(torch_names.AUTOCAST):
        call = file.tree.parent(node)
        if isinstance(call, cst.Call) and call.func is node:
            by_name, given = keyword(call, "dtype"), positionals(call)
            value = by_name.value if by_name else given[1].value if len(given) > 1 else None
            yield value is not None and not file.names.all_in(value, named(FLOAT16))
