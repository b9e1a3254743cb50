"""Where large numbers may come to: the functions in which a constant beyond the range of float16 may be met at all.

Numbers are followed by name, and never too little far: through assignments, arguments, what functions return, and containers.
They are not followed into tensors, which the dtype flow does not take for constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache

import libcst as cst

from amplint.dtypes.literals import literal, spelled_number
from amplint.file import File
from amplint.model.torch.operators import OPERATORS
from amplint.syntax.access_paths import called_name
from amplint.syntax.call_arguments import params_of
from amplint.syntax.names import LOCAL, UNKNOWN
from amplint.syntax.nodes import within
from amplint.syntax.tree import Tree

_LARGE = 500
"""Products of two smaller numbers are no large ones."""
_NUMBERS_INTO_TENSORS = frozenset(
    "masked_fill masked_fill_ fill_ full full_like new_full index_fill index_fill_ pad scatter scatter_ where clamp clamp_"
    " clamp_min clamp_max clip clip_".split()
)
"""What is given numbers behind its first argument, and makes a tensor of them that is no constant."""
_NO_NUMBER = ("math.", "builtins.range", "builtins.int", "builtins.float", "builtins.len", "builtins.print")
"""What gives back no number that is known."""
_VECTORS = frozenset({"torch.arange", "torch.linspace", "torch.logspace"})
"""What makes tensors with a dimension, which are no constants, nor is a power by one: the frequencies of rotary embeddings."""
_SAME_VALUES = frozenset({"to", "float", "double"})
_HOLDERS = frozenset({"ModuleList", "ModuleDict", "Sequential", "Parameter", "ParameterList", "ParameterDict"})
"""What is called like a layer, and holds what it is given."""
_GROWING = frozenset({"append", "extend", "insert", "add", "update", "setdefault"})
_TAKING = frozenset({"forward", "__call__"})
_ENDS = (
    cst.Comparison, cst.SubscriptElement, cst.BaseStatement, cst.BaseSmallStatement, cst.Module, cst.ImportAlias,
    cst.AssignTarget, cst.Annotation, cst.Decorator,
)  # fmt: skip
"""Where nothing goes on of what stands inside."""
_ASKED = (
    cst.Arg, cst.Param, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor, cst.Return, cst.Yield,
    cst.Lambda, cst.BinaryOperation,
)  # fmt: skip
"""Where that depends on the part in which it stands."""


def large_numbers(tree: Tree) -> Iterator[cst.CSTNode]:
    """The nodes that may be numbers beyond what float16 holds."""
    yield from (each for each in tree.find(cst.Integer) if int(each.value, 0) >= _LARGE)
    yield from (each for each in tree.find(cst.Float) if float(each.value) >= _LARGE)
    yield from (each for each in tree.find(cst.BinaryOperation) if _may_grow(each))
    yield from (each for each in tree.find(cst.Call) if spelled_number(each) is not None)
    yield from (each for each in tree.find(cst.Attribute) if each.attr.value == "finfo")


def _may_grow(operation: cst.BinaryOperation) -> bool:
    """Whether an operation is a power beyond the number that it is taken of, and beyond its inverse."""
    exponent = operation.right.expression if type(operation.right) is cst.UnaryOperation else operation.right
    if type(operation.operator) is not cst.Power:
        return False
    return not isinstance(exponent, (cst.Integer, cst.Float)) or abs(literal(exponent).value or _LARGE) > 1


def functions_met(file: File) -> frozenset[cst.FunctionDef]:
    """The functions of a file that large numbers may come to."""
    return _Spread(file).functions(large_numbers(file.tree))


class _Spread:
    """Follows numbers by the names that they are given."""

    def __init__(self, file: File) -> None:
        self._tree, self._names = file.tree, file.names
        self._functions: dict[str, list[cst.FunctionDef]] = {}
        for function in self._tree.find(cst.FunctionDef):
            self._functions.setdefault(function.name.value, []).append(function)
        self._classes = {each.name.value: each for each in self._tree.find(cst.ClassDef)}
        self._waiting: list[str] = []
        self._carrying: set[str] = set()

    def functions(self, numbers: Iterable[cst.CSTNode]) -> frozenset[cst.FunctionDef]:
        """The functions in which one of some numbers stands, or a name that may hold it."""
        found: set[cst.FunctionDef] = set()
        for number in numbers:
            if not (isinstance(number, cst.BinaryOperation) and self._is_power_by_vector(number)):
                self._follow(number, found)
        mentioned: dict[str, list[cst.Name]] = {}
        for name in self._tree.find(cst.Name) if self._waiting else ():
            mentioned.setdefault(name.value, []).append(name)
        while self._waiting:
            for name in mentioned.get(self._waiting.pop(), ()):
                self._follow(name, found)
        return frozenset(found)

    def _carries(self, *names: str) -> None:
        new = {*names} - self._carrying - {"self", "cls"}
        self._carrying |= new
        self._waiting += sorted(new)

    def _follow(self, node: cst.CSTNode, found: set[cst.FunctionDef]) -> None:
        """Note the functions around a place, and the names that what is there is given."""
        found.update(each for each in self._tree.ancestors(node) if type(each) is cst.FunctionDef)
        above = self._tree.parent(node)
        while above is not None and self._goes_on(node, above):
            node, above = above, self._tree.parent(above)

    def _goes_on(self, node: cst.CSTNode, above: cst.CSTNode) -> bool:
        """Whether what a node holds is in the node around it, too; if that gives it a name, the name is noted."""
        goes_on = _goes_through(type(above))
        if goes_on is not None:
            return goes_on
        match above:
            case cst.BinaryOperation():
                return not self._is_power_by_vector(above)
            case cst.Arg():
                return above.keyword is not node and self._is_handed_over(above)
            case cst.Assign() | cst.AnnAssign() | cst.AugAssign() | cst.NamedExpr():
                targets = [each.target for each in above.targets] if isinstance(above, cst.Assign) else [above.target]
                if above.value is node:
                    self._name(*targets)
                return type(above) is cst.NamedExpr and above.value is node
            case cst.For() | cst.CompFor():
                if above.iter is node:
                    self._name(above.target)
            case cst.Param():
                if above.default is node:
                    self._name(above.name)
            case cst.Return() | cst.Yield() | cst.Lambda():
                self._return(above)
        return False

    def _is_power_by_vector(self, operation: cst.BinaryOperation) -> bool:
        return type(operation.operator) is cst.Power and self._is_vector(operation.right)

    def _is_vector(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is surely a tensor with a dimension."""
        match node:
            case cst.BinaryOperation():
                return self._is_vector(node.left) or self._is_vector(node.right)
            case cst.UnaryOperation():
                return self._is_vector(node.expression)
            case cst.Call(func=cst.Attribute(value=value, attr=cst.Name(value=name))) if name in _SAME_VALUES:
                return self._is_vector(value)
            case cst.Call():
                return self._names.all_in(node.func, _VECTORS)
        return False

    def _name(self, *targets: cst.CSTNode) -> None:
        """Note what is assigned to: of `self.scale` the attribute, of elements what holds them."""
        for target in targets:
            if type(target) is cst.Attribute:
                self._carries(target.attr.value)
            elif type(target) is cst.Subscript:
                self._name(target.value)
            else:
                self._carries(*(each.value for each in within(target) if type(each) is cst.Name))

    def _return(self, node: cst.CSTNode) -> None:
        """Note the function that gives something back, and the class whose objects it is called on."""
        for above in self._tree.ancestors(node):
            if type(above) is cst.FunctionDef or type(above) is cst.ClassDef:
                self._carries(above.name.value)
            elif isinstance(above, (cst.Assign, cst.AnnAssign, cst.NamedExpr)):  # a lambda gets a name
                self._goes_on(above.value or above, above)

    def _is_handed_over(self, arg: cst.Arg) -> bool:
        """Whether a call gives back what it is given by an argument; what takes it is noted."""
        call = self._tree.parent(arg)
        if not isinstance(call, cst.Call):
            return False  # the base of a class
        func = call.func
        called = called_name(call)
        self._carries(*(each.value.value.strip("'\"") for each in call.args if type(each.value) is cst.SimpleString))
        taking = [*self._functions.get(called, ())]
        if called in self._classes:
            fields = (each.target for each in self._tree.inside(self._classes[called], cst.AnnAssign))
            self._name(*fields)
            taking += self._functions.get("__init__", ())
        if taking or called in self._classes:
            self._take(taking, arg, call)
            return True
        meanings = self._names.resolve(func)
        if UNKNOWN not in meanings and not any(each.startswith(f"{LOCAL}.") for each in meanings):
            return not self._is_lost(arg, call, called, meanings)
        if called in _GROWING and isinstance(func, cst.Attribute):
            self._name(func.value)
        elif isinstance(func, cst.Attribute) and not _is_self(func.value) and called.rstrip("_") in OPERATORS:
            return called not in _NUMBERS_INTO_TENSORS
        else:  # an object of a class of this file, perhaps
            self._take([each for name in sorted(_TAKING) for each in self._functions.get(name, ())], arg, call)
        return True

    def _take(self, functions: Iterable[cst.FunctionDef], arg: cst.Arg, call: cst.Call) -> None:
        """Note the parameters that an argument may be for."""
        if arg.keyword is not None:
            self._carries(arg.keyword.value)
        position = call.args.index(arg)
        spread = any(each.star for each in call.args[: position + 1])
        for function in functions:
            params = [each.name.value for each in params_of(function)]
            first = position + (params[:1] in (["self"], ["cls"]))
            taking = params if spread else params[first : first + 1] if arg.keyword is None else []
            stars = (function.params.star_arg, function.params.star_kwarg)
            self._carries(*taking, *(each.name.value for each in stars if type(each) is cst.Param))

    @staticmethod
    def _is_lost(arg: cst.Arg, call: cst.Call, called: str, meanings: Iterable[str]) -> bool:
        """Whether a call of a library gives back no number that it is given."""
        if all(each.startswith(_NO_NUMBER) or each in _VECTORS for each in meanings):
            return True
        if all(each.startswith("torch.nn.") for each in meanings) and called[:1].isupper():
            return called not in _HOLDERS
        return called in _NUMBERS_INTO_TENSORS and arg is not call.args[0]


@cache
def _goes_through(kind: type[cst.CSTNode]) -> bool | None:
    """Whether a node of some kind holds what the nodes inside it hold; None where that depends on which one it is."""
    return None if issubclass(kind, _ASKED) else not issubclass(kind, _ENDS)


def _is_self(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "self"
