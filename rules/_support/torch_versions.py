"""What a test of the version of PyTorch says of one release, as far as that can be told without running it."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

import libcst as cst

from amplint.model.torch import names as torch_names
from amplint.rule import File

NEWEST = "2.13.0"
"""Stands for the releases that a project will meet."""

_VERSIONS = frozenset({"torch.__version__", "torch.version.__version__", "torch.torch_version.__version__"})
_CALLED_VERSION = re.compile(r"^_?(torch|pt|pytorch)_?ver(sion)?$", re.IGNORECASE)
_PARSERS = frozenset("parse Version LooseVersion StrictVersion TorchVersion parse_version digit_version str".split())
_AT_LEAST = re.compile(r"^check_version$|version.*(_ge|_gte|at_least)$|greater_or_equal|at_least|_gte?$|_min$")
_COMPARES: dict[type[cst.BaseCompOp], Callable[[Any, Any], bool]] = {
    cst.GreaterThan: operator.gt, cst.GreaterThanEqual: operator.ge, cst.LessThan: operator.lt,
    cst.LessThanEqual: operator.le, cst.Equal: operator.eq, cst.NotEqual: operator.ne,
}  # fmt: skip
_WRITTEN = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "==": operator.eq}
_MOST_STEPS = 100


class Unclear(Exception):
    """A test asks for more than the version."""


@total_ordering
@dataclass(frozen=True, eq=False)
class _Release:
    """A version of something, which compares with others however they are written."""

    text: str

    @property
    def numbers(self) -> tuple[int, ...]:
        """Its leading numbers: (2, 4) of `2.4.0+cu121`."""
        found = [int(number) for number in re.findall(r"\d+", self.text.partition("+")[0])[:3]]
        while found and not found[-1]:
            found.pop()
        return tuple(found)

    def __eq__(self, other: object) -> bool:
        return self.numbers == _release(other).numbers

    def __lt__(self, other: object) -> bool:
        return self.numbers < _release(other).numbers

    def __hash__(self) -> int:
        return hash(self.numbers)


def _release(value: object) -> _Release:
    if isinstance(value, _Release):
        return value
    if isinstance(value, (tuple, list)):
        return _Release(".".join(map(str, value)))
    if isinstance(value, (str, float)) and re.match(r"v?\d", str(value)):
        return _Release(str(value))
    raise Unclear


def passes(file: File, test: cst.BaseExpression, version: str = NEWEST) -> bool | None:
    """Whether a test comes out true with one release of PyTorch; None when that takes more than the version.

    Args:
        file: the file that the test stands in.
        test: any expression.
        version: the release.
    """
    try:
        return bool(_Reader(file, version).value(test))
    except (Unclear, TypeError, ValueError, IndexError, RecursionError):
        return None


class _Reader:
    """Computes an expression as it would come out with one release."""

    def __init__(self, file: File, version: str) -> None:
        self._file, self._version = file, version
        self._steps = 0

    def value(self, node: cst.CSTNode) -> Any:
        """What an expression comes to.

        Raises:
            Unclear: it asks for more than the version.
        """
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise Unclear
        match node:
            case cst.SimpleString() | cst.Integer() | cst.Float():
                return node.evaluated_value
            case cst.Tuple() | cst.List():
                return tuple(self.value(element.value) for element in node.elements)
            case cst.Name() | cst.Attribute():
                return self._named(node)
            case cst.Call():
                return self._called(node)
            case cst.Subscript(slice=[cst.SubscriptElement(slice=part)]):
                return self._part(self.value(node.value), part)
            case cst.Comparison(left=left, comparisons=[target]):
                return self._compared(self.value(left), target.operator, self.value(target.comparator))
            case cst.UnaryOperation(operator=cst.Not()):
                return not self.value(node.expression)
            case cst.BooleanOperation():
                return self._either(node)
        raise Unclear

    def _either(self, node: cst.BooleanOperation) -> bool:
        sides = [passes(self._file, side, self._version) for side in (node.left, node.right)]
        decides = isinstance(node.operator, cst.Or)
        if decides in sides:
            return decides
        if None in sides:
            raise Unclear
        return not decides

    def _named(self, node: cst.Name | cst.Attribute) -> Any:
        meanings = self._file.names.resolve(node)
        if meanings <= _VERSIONS:
            return _Release(self._version)
        if isinstance(node, cst.Name):
            values = [binding.value for binding in self._file.names.bindings(node.value, node)]
            if len(values) == 1 and values[0] is not None:
                return self.value(values[0])
            if node.value in ("True", "False"):
                return node.value == "True"
        last = node.value if isinstance(node, cst.Name) else node.attr.value
        if _CALLED_VERSION.search(last):
            return _Release(self._version)
        if isinstance(node, cst.Attribute) and last in ("major", "minor", "micro", "release"):
            numbers = (*_release(self.value(node.value)).numbers, 0, 0, 0)[:3]
            return numbers if last == "release" else numbers[("major", "minor", "micro").index(last)]
        raise Unclear

    def _part(self, whole: Any, part: cst.BaseSlice) -> Any:
        whole = whole.text if isinstance(whole, _Release) else whole
        if isinstance(part, cst.Index):
            return whole[self.value(part.value)]
        assert isinstance(part, cst.Slice)
        ends = [self.value(end) if end is not None else None for end in (part.lower, part.upper, part.step)]
        return whole[slice(*ends)]

    def _compared(self, left: Any, how: cst.BaseCompOp, right: Any) -> bool:
        if type(how) not in _COMPARES:
            raise Unclear
        if isinstance(left, (str, tuple)) or isinstance(right, (str, tuple)):
            left, right = _release(left), _release(right)
        return _COMPARES[type(how)](left, right)

    def _called(self, call: cst.Call) -> Any:
        func = call.func
        name = func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""
        if any(arg.star for arg in call.args) or any(
            arg.keyword and arg.keyword.value == "pinned" for arg in call.args
        ):
            raise Unclear
        if name == "hasattr" and len(call.args) == 2:
            return self._has(call.args[0].value, self.value(call.args[1].value))
        if name == "map" and isinstance(call.args[0].value, cst.Name) and call.args[0].value.value in ("int", "float"):
            kind: type[int] | type[float] = int if call.args[0].value.value == "int" else float
            return tuple(map(kind, self.value(call.args[1].value)))
        given = [self.value(arg.value) for arg in call.args if arg.keyword is None]
        if name == "is_torch_version" and len(given) == 2 and given[0] in _WRITTEN:
            return _WRITTEN[given[0]](_Release(self._version), _release(given[1]))
        if _AT_LEAST.search(name) and given and isinstance(given[-1], str):
            return _Release(self._version) >= _release(given[-1])
        if isinstance(func, cst.Attribute) and name in ("startswith", "split"):
            text = self.value(func.value)
            return getattr(text.text if isinstance(text, _Release) else text, name)(*given)
        if len(given) == 1 and name in ("int", "float", "tuple", "list"):
            [value] = given
            value = value.text if isinstance(value, _Release) else value
            return {"int": int, "float": float, "tuple": tuple, "list": tuple}[name](value)
        if len(given) == 1 and name in _PARSERS:
            return _release(given[0])
        raise Unclear

    def _has(self, module: cst.BaseExpression, name: object) -> bool:
        names = {f"{each}.{name}" for each in self._file.names.resolve(module)}
        newest = tuple(map(int, self._version.split(".")[:2]))
        for each in names:
            since = torch_names.SINCE.get(torch_names.canonical(each))
            if since is None:
                raise Unclear
            if newest < since:
                return False
        return True
