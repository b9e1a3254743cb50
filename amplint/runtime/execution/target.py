"""What is to be run for a finding: the function or method that it is in, and what the file tells of its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from amplint.diagnostics import Diagnostic
from amplint.dtypes.values import Tensor
from amplint.model.events import Region
from amplint.runtime.numeric.facts import DtypeTrace
from amplint.runtime.training.run_record import NotReplayable
from amplint.syntax.tree import Tree

_EVERYTHING = float("inf")


@dataclass(frozen=True)
class Parameter:
    """A parameter that has to be given; `dtype`, bounds and `detached` are those of `amplint.dtypes.values.Tensor`."""

    name: str
    dtype: str = "?"
    low: float = -_EVERYTHING
    high: float = _EVERYTHING
    detached: bool = False


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
    given = [facts.given(frame, each) if frame is not None else None for each in parameters]
    known = tuple(_parameter(each, value) for each, value in zip(parameters, given))
    return RunTarget(
        name, known, frame.region if frame is not None and frame.region != Region("grad", "", "no") else None
    )


def _outermost(tree: Tree, span: tuple[int, int]) -> cst.FunctionDef:
    around: list[cst.FunctionDef] = [node for node in tree.find(cst.FunctionDef) if _covers(tree.span(node), span)]
    if not around:
        raise NotReplayable("the finding is in no function that could be called")
    return min(around, key=lambda node: tree.span(node)[0])


def _required(function: cst.FunctionDef) -> Iterator[cst.Param]:
    params = function.params
    yield from (
        each for each in (*params.posonly_params, *params.params, *params.kwonly_params) if each.default is None
    )


def _parameter(param: cst.Param, value: object) -> Parameter:
    if not isinstance(value, Tensor):
        return Parameter(param.name.value)
    return Parameter(param.name.value, value.dtype, value.low, value.high, value.detached)


def _covers(outer: tuple[int, int], inner: tuple[int, int]) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]
