"""What accelerate is given to prepare: optimizers whose steps go through its scaler from then on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePath

import libcst as cst

from amplint.file import File
from amplint.syntax.access_paths import called_name, path_of

_MAKER = "accelerate.pyi"
"""The wrapper that says what an accelerator in float16 does."""
LOOPS = (cst.For, cst.While, cst.FunctionDef)


class Preparations:
    """The calls of `prepare` in one file; none where one of them is given a list whose members the text does not tell."""

    def __init__(self, file: File) -> None:
        self._tree, self._callees = file.tree, file.callees

    @cached_property
    def calls(self) -> tuple[cst.Call, ...]:
        """Every call of something called `prepare`."""
        calls = [
            call
            for call in self._tree.find(cst.Call)
            if called_name(call).startswith("prepare") and isinstance(call.func, cst.Attribute)
        ]
        return () if any(arg.star for call in calls for arg in call.args) else tuple(calls)

    @cached_property
    def scaling(self) -> tuple[cst.Call, ...]:
        """Those of an accelerator that scales."""
        return tuple(call for call in self.calls if self.scales(call))

    def scales(self, call: cst.Call) -> bool:
        """Whether the receiver of a call is an accelerator that scales."""
        info = self._callees.objects.class_of(call.func.value) if isinstance(call.func, cst.Attribute) else None
        return info is not None and PurePath(self._tree.home(info.node).source.path).name == _MAKER

    def handed_back(self, call: cst.Call) -> Iterator[tuple[str, str]]:
        """What a call prepares, each with the name that it has afterwards."""
        assign = self._tree.parent(call)
        target = assign.targets[0].target if isinstance(assign, cst.Assign) else None
        names = [each.value for each in target.elements] if isinstance(target, cst.Tuple) else [target]
        for place, arg in enumerate(call.args):
            name = names[place] if len(names) == len(call.args) else None
            yield path_of(arg.value), path_of(name) if name is not None else path_of(arg.value)


def stepped(call: cst.Call) -> cst.BaseExpression | None:
    """What a call advances or steps without giving it anything; None for any other call."""
    steps = isinstance(call.func, cst.Attribute) and call.func.attr.value == "step" and not call.args
    return call.func.value if steps and isinstance(call.func, cst.Attribute) else None
