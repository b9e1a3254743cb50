"""What the dtype flow tells about each expression of a file, in each way in which the file reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from amplint.dtypes import OWN_LOSSES
from amplint.dtypes.file_flow import FileFlow
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.values import UNKNOWN, Arguments, Closure, Tensor, Value
from amplint.model.events import Region
from amplint.rule import File
from amplint.syntax.names import dotted

_BUDGET = 200_000


@dataclass(frozen=True)
class SeenValue:
    """What was known of an expression, the region in effect there, and whether gradients were recorded."""

    value: Value
    region: Region | None
    graded: bool


@dataclass(eq=False)
class _Invocation:
    caller: StackFrame
    call: cst.Call | None
    node: cst.CSTNode
    frame: StackFrame | None = None


@dataclass(frozen=True)
class Caller:
    """Where a body was entered from."""

    frame: StackFrame
    call: cst.Call | None = field(compare=False)


class DtypeTrace(FileFlow):
    """The dtype flow of a file, with a record of what it saw; a body is looked at once for each frame."""

    def __init__(self, file: File) -> None:
        losses = frozenset(file.option(OWN_LOSSES))
        super().__init__(file.tree, file.names, file.contexts, file.classes, losses, _BUDGET)
        self.file = file
        self.frames: list[StackFrame] = []
        """The frames in the order in which they were entered."""
        self.callers: dict[StackFrame, Caller] = {}
        self._seen: dict[StackFrame, dict[int, SeenValue]] = {}
        self._nodes: dict[StackFrame, dict[int, cst.CSTNode]] = {}
        self._given: dict[StackFrame, dict[str, Value]] = {}
        self._callees: dict[tuple[StackFrame, int], StackFrame] = {}
        self._calls: list[cst.Call] = []
        self._invocations: list[_Invocation] = []
        self._invoked: dict[tuple[object, ...], StackFrame] = {}
        self.whole_file()

    # -- asking ------------------------------------------------------------------------------------------------------

    def seen(self, node: cst.CSTNode, frame: StackFrame) -> SeenValue:
        """What was known of an expression in a frame; nothing where the flow did not come by.

        Args:
            node: the expression.
            frame: the evaluation of its body.
        """
        return self._seen.get(frame, {}).get(id(node)) or SeenValue(UNKNOWN, frame.region, frame.differentiates)

    def nodes(self, frame: StackFrame) -> Iterator[tuple[cst.CSTNode, SeenValue]]:
        """All expressions that were evaluated in a frame."""
        for key, seen in self._seen.get(frame, {}).items():
            yield self._nodes[frame][key], seen

    def given(self, frame: StackFrame, param: cst.Param) -> Value | None:
        """What a parameter held when a frame was entered.

        Args:
            frame: the evaluation of the function.
            param: the parameter.
        """
        return self._given.get(frame, {}).get(param.name.value)

    def known(self, frame: StackFrame) -> int:
        """Of how many parameters something was known when a frame was entered."""
        given = self._given.get(frame, {}).values()
        return sum(not (isinstance(value, Tensor) and value.dtype == UNKNOWN.dtype) for value in given)

    def callee(self, call: cst.Call, frame: StackFrame) -> StackFrame | None:
        """The frame of the function of this file that a call in a frame runs.

        Args:
            call: the call.
            frame: the evaluation of the body that it stands in.
        """
        return self._callees.get((frame, id(call)))

    # -- recording ---------------------------------------------------------------------------------------------------

    def evaluate(self, node: cst.BaseExpression, frame: StackFrame) -> Value:
        self._meet(frame)
        value = super().evaluate(node, frame)
        self._file(node, value, frame)
        return value

    def binary(
        self,
        op: str,
        node: cst.CSTNode,
        left: cst.BaseExpression,
        right: cst.BaseExpression,
        frame: StackFrame,
        in_place: bool = False,
    ) -> Value:
        value = super().binary(op, node, left, right, frame, in_place)
        self._file(node, value, frame)
        return value

    def _file(self, node: cst.CSTNode, value: Value, frame: StackFrame) -> None:
        self._nodes.setdefault(frame, {})[id(node)] = node
        self._seen.setdefault(frame, {})[id(node)] = SeenValue(value, frame.region, frame.differentiates)

    def call(self, node: cst.Call, frame: StackFrame) -> Value:
        self._calls.append(node)
        try:
            return super().call(node, frame)
        finally:
            self._calls.pop()

    def run(self, body: cst.BaseSuite, frame: StackFrame) -> None:
        self._meet(frame)
        super().run(body, frame)

    def invoke(self, function: Closure, arguments: Arguments, frame: StackFrame, called: str) -> Value:
        is_property = isinstance(function.node, cst.FunctionDef) and any(
            dotted(each.decorator) == "property" for each in function.node.decorators
        )
        call = self._calls[-1] if self._calls and not is_property else None
        invocation = _Invocation(frame, call, function.node)
        self._invocations.append(invocation)
        try:
            value = super().invoke(function, arguments, frame, called)
        finally:
            self._invocations.pop()
        key = (function.node, function.bound, arguments.values, tuple(arguments.keywords.items()), frame.regions)
        inner = invocation.frame or self._invoked.get(key)
        if inner is not None:
            self._invoked[key] = inner
            if call is not None:
                self._callees[frame, id(call)] = inner
        return value

    def _meet(self, frame: StackFrame) -> None:
        if frame in self._seen:
            return
        self._seen[frame], self._nodes[frame] = {}, {}
        self._given[frame] = dict(frame.variables)
        self.frames.append(frame)
        invocation = self._invocations[-1] if self._invocations else None
        if invocation is not None and invocation.node is frame.scope and invocation.frame is None:
            invocation.frame = frame
            self.callers[frame] = Caller(invocation.caller, invocation.call)
