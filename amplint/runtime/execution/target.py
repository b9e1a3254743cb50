"""What is to be run for a finding: the function or method that it is in, and what the file tells of its parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from amplint.diagnostics import Diagnostic
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.values import Tensor
from amplint.model.events import NO_GRAD, Region
from amplint.runtime.numeric.facts import DtypeTrace
from amplint.runtime.numeric.finding_place import is_around
from amplint.runtime.training.run_record import NotReplayable
from amplint.syntax.names import dotted
from amplint.syntax.tree import Tree

_EVERYTHING = float("inf")


@dataclass(frozen=True)
class Parameter:
    """A parameter that has to be given; or, of one that is a dictionary, what it holds under a `key`.

    `dtype`, bounds and `detached` are those of `amplint.dtypes.values.Tensor`.
    """

    name: str
    key: str = ""
    dtype: str = "?"
    low: float = -_EVERYTHING
    high: float = _EVERYTHING
    detached: bool = False

    @property
    def text(self) -> str:
        """How the code writes it."""
        return f"{self.name}[{self.key!r}]" if self.key else self.name


@dataclass(frozen=True)
class RunTarget:
    """A function that is run.

    Attributes:
        name: within its module: "loss", "FocalLoss.forward".
        parameters: those without a default, in order, and not the object of a method.
        region: the autocast region that the file calls it in.
    """

    name: str
    parameters: tuple[Parameter, ...]
    region: Region | None


def target_of(facts: DtypeTrace, diagnostic: Diagnostic) -> RunTarget:
    """The outermost function or method around a finding.

    Args:
        facts: what the dtype flow knows of the file.
        diagnostic: the finding.

    Raises:
        NotReplayable: the finding is in none, or in one that cannot be called from outside.
    """
    outermost = _outermost(facts.file.tree, (diagnostic.range.start.offset, diagnostic.range.end.offset))
    above: list[cst.ClassDef] = [
        each for each in facts.file.tree.ancestors(outermost) if isinstance(each, cst.ClassDef)
    ]
    decorators = {facts.file.tree.text(each.decorator) for each in outermost.decorators}
    if len(above) > 1 or outermost.asynchronous is not None or decorators & {"property", "classmethod", "staticmethod"}:
        raise NotReplayable(f"`{outermost.name.value}` cannot be called as it is")
    name = "".join(f"{each.name.value}." for each in above) + outermost.name.value
    frames = [frame for frame in facts.frames if frame.scope is outermost]
    frame = max(frames, key=facts.known, default=None)
    parameters = list(_required(outermost))[1 if above else 0 :]
    known = tuple(one for each in parameters for one in _parts(each, outermost, facts, frame))
    return RunTarget(name, known, frame.region if frame is not None and frame.region != NO_GRAD else None)


def _outermost(tree: Tree, span: tuple[int, int]) -> cst.FunctionDef:
    around: list[cst.FunctionDef] = [node for node in tree.find(cst.FunctionDef) if is_around(tree.span(node), span)]
    if not around:
        raise NotReplayable("the finding is in no function that could be called")
    return min(around, key=lambda node: tree.span(node)[0])


def _required(function: cst.FunctionDef) -> Iterator[cst.Param]:
    params = function.params
    yield from (
        each for each in (*params.posonly_params, *params.params, *params.kwonly_params) if each.default is None
    )


def _parts(
    param: cst.Param, function: cst.FunctionDef, facts: DtypeTrace, frame: StackFrame | None
) -> Iterator[Parameter]:
    """A parameter, or, where the code asks it for keys, what it holds under each."""
    name = param.name.value
    items = [node for node in facts.file.tree.find(cst.Subscript) if _is_item(node, name, function, facts.file.tree)]
    keyed = {ast.literal_eval(facts.file.tree.text(each.slice[0].slice)): each for each in items}
    for key, node in keyed.items():
        yield _parameter(name, key, facts.seen(node, frame).value if frame is not None else None)
    if not keyed:
        yield _parameter(name, "", facts.given(frame, param) if frame is not None else None)


def _is_item(node: cst.Subscript, name: str, function: cst.FunctionDef, tree: Tree) -> bool:
    key = node.slice[0].slice
    is_key = isinstance(key, cst.Index) and isinstance(key.value, cst.SimpleString) and len(node.slice) == 1
    return is_key and dotted(node.value) == name and function in tree.ancestors(node)


def _parameter(name: str, key: str, value: object) -> Parameter:
    if not isinstance(value, Tensor):
        return Parameter(name, key)
    return Parameter(name, key, value.dtype, value.low, value.high, value.detached)
