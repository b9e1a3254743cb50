"""Where losses are read out to be shown or kept: printed, logged, added up, collected.

Only values that have to do with a call of `scale` in the same function are of interest: what it returns, what it gets, what
functions of the file return that call it, and what those of other files return that are given a scaler, or are called so.
Whether such a value is scaled when it is read out is for the protocol to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

import libcst as cst

from amplint.model import vocabulary
from amplint.syntax.access_paths import path_of
from amplint.syntax.bindings import targets
from amplint.syntax.call_arguments import given_by, params_of
from amplint.syntax.nodes import within
from amplint.syntax.tree import Tree
from amplint.syntax.value_flow import ValueFlow
from amplint.syntax.value_uses import How, Use
from amplint.syntax.words import words

_READS_OUT = frozenset({"item", "tolist", "numpy", "detach", "float", "data"})
_PASSES = _READS_OUT | frozenset({"cpu", "mean", "sum", "clone", "squeeze", "round", "abs", "str", "to", "double"})
_SCALES = re.compile("scal(e|er|ed|ing)(?![a-z])", re.IGNORECASE)
_COMPUTES = frozenset({"torch", "math", "np", "numpy", "F"})


class Reports:
    """The reports of one file.

    Args:
        tree: the file.
        flow: where its values go.
    """

    def __init__(self, tree: Tree, flow: ValueFlow) -> None:
        self._tree, self._flow = tree, flow

    @cached_property
    def found(self) -> dict[cst.CSTNode, list[cst.BaseExpression]]:
        """The nodes at which a loss is read out, with what may be the loss in it."""
        found: dict[cst.CSTNode, list[cst.BaseExpression]] = {}
        for value in self._candidates():
            at = self._read_out(value)
            if at is not None:
                found.setdefault(at, []).append(value)
        return found

    # -- losses ----------------------------------------------------------------------------------------------------

    def _candidates(self) -> Iterator[cst.BaseExpression]:
        scaling = [call for call, _ in self._flow.methods("scale") if len(call.args) == 1]
        yield from scaling
        concerned: dict[tuple[cst.CSTNode | None, str], cst.CSTNode] = {}
        returning: set[str] = set()
        for call in scaling:
            home = self._tree.function(call)
            inside = [each for each in within(call.args[0].value) if path_of(each)]
            concerned.update(((home, path_of(each)), call) for each in (*inside, *self._targets(call)))
            if isinstance(home, cst.FunctionDef):
                returning.add(home.name.value)
        for call in (*(call for name in returning for call in self._flow.calls(name)), *self._handed_scalers()):
            concerned.update(((self._tree.function(call), path_of(each)), call) for each in self._targets(call))
        for (function, path), place in concerned.items():
            yield from self._flow.reads(path, place)
            if function is not None:
                yield from self._read_by_helpers(function, path)

    def _read_by_helpers(self, home: cst.CSTNode, path: str) -> Iterator[cst.BaseExpression]:
        """Where functions in sight read what one function gives them by a name; not those that show it by what they are called,
        as the call says that."""
        for call in self._tree.inside(home, cst.Call):
            function = self._flow.called(call) if any(path_of(arg.value) == path for arg in call.args) else None
            if function is None or vocabulary.SHOWS.match(function.name.value):
                continue
            names = [each.name.value for each in params_of(function)]
            given = ((name, given_by(call, function, name)) for name in names)
            for name in (name for name, value in given if value is not None and path_of(value) == path):
                yield from self._flow.reads(name, function.body)

    def _handed_scalers(self) -> Iterator[cst.Call]:
        """The calls whose value is assigned and that, by what they speak of, may scale it in another file."""
        for assign in self._tree.find(cst.Assign):
            if isinstance(call := assign.value, cst.Call):
                paths = [path_of(call.func), *(path_of(arg.value) for arg in call.args)]
                if any(_SCALES.search(path) for path in paths):
                    yield call

    def _targets(self, call: cst.Call) -> list[cst.BaseExpression]:
        """What the value of a call is assigned to."""
        use = self._flow.use(call)
        return targets(use.node) if use.how is How.ASSIGNED else []

    # -- where they go ---------------------------------------------------------------------------------------------

    def _read_out(self, value: cst.BaseExpression) -> cst.CSTNode | None:
        """The node at which a value is read out; None where it goes elsewhere, into a backward pass for one."""
        at: cst.CSTNode = value
        use = Use(How.ELSEWHERE, value)
        for use in self._flow.uses(value):
            match use.how, use.node:
                case How.METHOD | How.ATTRIBUTE, node:
                    if use.name not in _PASSES or (use.how is How.ATTRIBUTE and use.name != "data"):
                        return None
                    at = node if use.name in _READS_OUT else at
                case How.ARGUMENT, cst.Call() as call:
                    if vocabulary.FINITE.search(use.name):
                        return None
                    if use.name not in _PASSES:
                        return at if self._reports(call, use.name, at is not value) else None
                    at = call if use.name in _READS_OUT else at
                case ((How.PART | How.OPERAND), node):
                    if _is_unscaling(node):
                        return None
                case How.SHOWN, _:
                    return at
                case _:
                    break
        return at if at is not value and self._keeps(use) else None

    @staticmethod
    def _reports(call: cst.Call, name: str, is_read_out: bool) -> bool:
        if path_of(call.func).partition(".")[0] in _COMPUTES:
            return False
        return vocabulary.SHOWS.match(name) is not None or (name in vocabulary.KEEPS and is_read_out)

    def _keeps(self, use: Use) -> bool:
        """Whether a statement adds a value up, or takes it out to keep it."""
        if isinstance(use.node, cst.AugAssign):
            return use.how is How.ADDED and isinstance(use.node.operator, cst.AddAssign)
        home = self._tree.function(use.node) or self._tree.module
        return isinstance(use.node, cst.Assign) and "get_scale" not in words(home)


def _is_unscaling(operation: cst.CSTNode) -> bool:
    """Whether an operation divides by the scale, by whatever name, or multiplies by its inverse."""
    divisor: Iterable[str] = ()
    if isinstance(operation, cst.BinaryOperation) and isinstance(operation.operator, cst.Divide):
        divisor = words(operation.right)
    return (
        "get_scale" in words(operation)
        or any("inv" in each for each in words(operation))
        or any(_SCALES.search(each) for each in divisor)
    )
