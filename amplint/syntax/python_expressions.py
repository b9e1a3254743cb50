"""Expressions of Python's own tree as LibCST's nodes."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import libcst as cst

from amplint.syntax.nodes import NodeLookup, maker

_NAME, _ATTRIBUTE = maker(cst.Name, "value"), maker(cst.Attribute, "value", "attr")
_CALL, _ARG = maker(cst.Call, "func", "args"), maker(cst.Arg, "value", "keyword", "star")
_SUBSCRIPT, _SUBSCRIPT_ELEMENT = maker(cst.Subscript, "value", "slice"), maker(cst.SubscriptElement, "slice")
_INDEX, _SLICE = (
    maker(cst.Index, "value", "star"),
    maker(cst.Slice, "lower", "upper", "step", "first_colon", "second_colon"),
)
_COLON = maker(cst.Colon)
_BINARY, _UNARY = (
    maker(cst.BinaryOperation, "left", "operator", "right"),
    maker(cst.UnaryOperation, "operator", "expression"),
)
_BOOLEAN = maker(cst.BooleanOperation, "left", "operator", "right")
_COMPARISON, _TARGET = (
    maker(cst.Comparison, "left", "comparisons"),
    maker(cst.ComparisonTarget, "operator", "comparator"),
)
_CHOICE, _NAMED = maker(cst.IfExp, "test", "body", "orelse"), maker(cst.NamedExpr, "target", "value")
_YIELD, _FROM, _AWAIT = maker(cst.Yield, "value"), maker(cst.From, "item"), maker(cst.Await, "expression")
_ELEMENT, _STARRED = maker(cst.Element, "value"), maker(cst.StarredElement, "value")
_TUPLE, _LIST, _SET = maker(cst.Tuple, "elements"), maker(cst.List, "elements"), maker(cst.Set, "elements")
_DICT, _PAIR, _SPREAD = (
    maker(cst.Dict, "elements"),
    maker(cst.DictElement, "key", "value"),
    maker(cst.StarredDictElement, "value"),
)
_LIST_COMPREHENSION, _SET_COMPREHENSION = maker(cst.ListComp, "elt", "for_in"), maker(cst.SetComp, "elt", "for_in")
_GENERATOR = maker(cst.GeneratorExp, "elt", "for_in", "lpar", "rpar")
_PARENTHESES = (cst.LeftParen(),), (cst.RightParen(),)
_DICT_COMPREHENSION = maker(cst.DictComp, "key", "value", "for_in")
_FOR = maker(cst.CompFor, "target", "iter", "ifs", "inner_for_in", "asynchronous")
_IF, _ASYNCHRONOUS = maker(cst.CompIf, "test"), maker(cst.Asynchronous)
_LAMBDA = maker(cst.Lambda, "params", "body")
_PARAMETERS = maker(
    cst.Parameters, "params", "star_arg", "kwonly_params", "star_kwarg", "posonly_params", "posonly_ind"
)
_PARAM, _SLASH, _STAR = (
    maker(cst.Param, "name", "annotation", "default", "star"),
    maker(cst.ParamSlash),
    maker(cst.ParamStar),
)
_ANNOTATION = maker(cst.Annotation, "annotation")
_NUMBERS = {int: maker(cst.Integer, "value"), float: maker(cst.Float, "value"), complex: maker(cst.Imaginary, "value")}
_ELLIPSIS = maker(cst.Ellipsis)
_SECOND_COLON = re.compile(r":[^:]*:\s*$")
_ABSENT = cst.MaybeSentinel.DEFAULT

_ARITHMETIC = {
    ast.Add: maker(cst.Add), ast.Sub: maker(cst.Subtract), ast.Mult: maker(cst.Multiply), ast.Div: maker(cst.Divide),
    ast.FloorDiv: maker(cst.FloorDivide), ast.Mod: maker(cst.Modulo), ast.Pow: maker(cst.Power),
    ast.MatMult: maker(cst.MatrixMultiply), ast.LShift: maker(cst.LeftShift), ast.RShift: maker(cst.RightShift),
    ast.BitOr: maker(cst.BitOr), ast.BitXor: maker(cst.BitXor), ast.BitAnd: maker(cst.BitAnd),
}  # fmt: skip
_PREFIXES = {
    ast.USub: maker(cst.Minus), ast.UAdd: maker(cst.Plus), ast.Not: maker(cst.Not), ast.Invert: maker(cst.BitInvert),
}  # fmt: skip
_JOINING = {ast.And: maker(cst.And), ast.Or: maker(cst.Or)}
_COMPARING = {
    ast.Eq: maker(cst.Equal), ast.NotEq: maker(cst.NotEqual), ast.Lt: maker(cst.LessThan), ast.In: maker(cst.In),
    ast.LtE: maker(cst.LessThanEqual), ast.Gt: maker(cst.GreaterThan), ast.GtE: maker(cst.GreaterThanEqual),
    ast.Is: maker(cst.Is), ast.IsNot: maker(cst.IsNot), ast.NotIn: maker(cst.NotIn),
}  # fmt: skip


def dotted_name(name: str) -> Any:
    """The name of a module, with its dots."""
    first, *rest = name.split(".")
    node = _NAME(first)
    for part in rest:
        node = _ATTRIBUTE(node, _NAME(part))
    return node


def _constant(known: NodeLookup, node: ast.Constant) -> Any:
    kind = type(node.value)
    if kind in _NUMBERS:
        return _NUMBERS[kind](known.text(node))
    return _ELLIPSIS() if node.value is Ellipsis else _NAME(str(node.value))


def argument_nodes(known: NodeLookup, args: Iterable[ast.expr], keywords: Sequence[ast.keyword]) -> tuple[Any, ...]:
    """The arguments of a call, or of a class, in the order of the text.

    Args:
        known: the nodes of what they hold.
        args: those without a name.
        keywords: those with one, and what is unpacked by two stars.
    """
    given: list[tuple[tuple[int, int], Any]] = []
    for arg in args:
        value, star = (arg.value, "*") if isinstance(arg, ast.Starred) else (arg, "")
        given.append(((arg.lineno, arg.col_offset), _ARG(known[value], None, star)))
    for each in keywords:
        name, star = (None, "**") if each.arg is None else (_NAME(each.arg), "")
        given.append(((each.lineno, each.col_offset), _ARG(known[each.value], name, star)))
    if keywords:
        given.sort(key=lambda each: each[0])
    return tuple(arg for _, arg in given)


def _call(known: NodeLookup, node: ast.Call) -> Any:
    args = argument_nodes(known, node.args, node.keywords)
    last = node.args[-1] if node.args else None
    if isinstance(last, ast.GeneratorExp) and (last.end_lineno, last.end_col_offset) == (
        node.end_lineno,
        node.end_col_offset,
    ):
        for side in ("lpar", "rpar"):
            object.__setattr__(known[last], side, ())  # its parentheses are those of the call
    return _CALL(known[node.func], args)


def _subscript(known: NodeLookup, node: ast.Subscript) -> Any:
    several = isinstance(node.slice, ast.Tuple) and not known.has_parentheses(node.slice)
    parts = node.slice.elts if several and isinstance(node.slice, ast.Tuple) else [node.slice]
    return _SUBSCRIPT(known[node.value], tuple(_SUBSCRIPT_ELEMENT(_index(known, each)) for each in parts))


def _index(known: NodeLookup, node: ast.expr) -> Any:
    if isinstance(node, ast.Slice):
        second = _COLON() if node.step is not None or _SECOND_COLON.search(known.text(node)) else _ABSENT
        return _SLICE(known[node.lower], known[node.upper], known[node.step], _COLON(), second)
    return _INDEX(known[node.value], "*") if isinstance(node, ast.Starred) else _INDEX(known[node], None)


def _boolean(known: NodeLookup, node: ast.BoolOp) -> Any:
    left, *others = node.values
    found = known[left]
    for other in others:
        found = _BOOLEAN(found, _JOINING[type(node.op)](), known[other])
    return found


def _comparison(known: NodeLookup, node: ast.Compare) -> Any:
    targets = (_TARGET(_COMPARING[type(op)](), known[other]) for op, other in zip(node.ops, node.comparators))
    return _COMPARISON(known[node.left], tuple(targets))


def _elements(known: NodeLookup, nodes: Iterable[ast.expr]) -> tuple[Any, ...]:
    return tuple(
        _STARRED(known[each.value]) if isinstance(each, ast.Starred) else _ELEMENT(known[each]) for each in nodes
    )


def _dict(known: NodeLookup, node: ast.Dict) -> Any:
    pairs = zip(node.keys, node.values)
    return _DICT(
        tuple(_SPREAD(known[value]) if key is None else _PAIR(known[key], known[value]) for key, value in pairs)
    )


def _comprehension(known: NodeLookup, node: Any) -> Any:
    inner = None
    for each in reversed(node.generators):
        ifs = tuple(_IF(known[test]) for test in each.ifs)
        inner = _FOR(known[each.target], known[each.iter], ifs, inner, _ASYNCHRONOUS() if each.is_async else None)
    if isinstance(node, ast.DictComp):
        return _DICT_COMPREHENSION(known[node.key], known[node.value], inner)
    if isinstance(node, ast.GeneratorExp):
        return _GENERATOR(known[node.elt], inner, *_PARENTHESES)
    return (_LIST_COMPREHENSION if isinstance(node, ast.ListComp) else _SET_COMPREHENSION)(known[node.elt], inner)


def parameter_nodes(known: NodeLookup, node: ast.arguments) -> Any:
    """The parameters of a function.

    Args:
        known: the nodes of their annotations and defaults.
        node: the parameters as Python's tree has them.
    """
    positional = [*node.posonlyargs, *node.args]
    defaults = [None] * (len(positional) - len(node.defaults)) + [*node.defaults]
    params = [_param(known, each, default) for each, default in zip(positional, defaults)]
    star: Any = _ABSENT
    if node.vararg is not None:
        star = _param(known, node.vararg, None, "*")
    elif node.kwonlyargs:
        star = _STAR()
    count = len(node.posonlyargs)
    return _PARAMETERS(
        tuple(params[count:]),
        star,
        tuple(_param(known, each, default) for each, default in zip(node.kwonlyargs, node.kw_defaults)),
        None if node.kwarg is None else _param(known, node.kwarg, None, "**"),
        tuple(params[:count]),
        _SLASH() if count else _ABSENT,
    )


def _param(known: NodeLookup, node: ast.arg, default: ast.expr | None, star: str = "") -> Any:
    return _PARAM(_NAME(node.arg), annotation(known, node.annotation), known[default], star)


def annotation(known: NodeLookup, node: ast.expr | None) -> Any:
    """What stands behind a colon or an arrow; None for nothing.

    Args:
        known: the nodes of what it holds.
        node: the annotation as Python's tree has it.
    """
    return None if node is None else _ANNOTATION(known[node])


EXPRESSIONS: dict[type[ast.AST], Callable[[NodeLookup, Any], Any]] = {
    ast.Name: lambda known, node: _NAME(node.id),
    ast.Attribute: lambda known, node: _ATTRIBUTE(known[node.value], _NAME(node.attr)),
    ast.Constant: _constant,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.BinOp: lambda known, node: _BINARY(known[node.left], _ARITHMETIC[type(node.op)](), known[node.right]),
    ast.UnaryOp: lambda known, node: _UNARY(_PREFIXES[type(node.op)](), known[node.operand]),
    ast.BoolOp: _boolean,
    ast.Compare: _comparison,
    ast.IfExp: lambda known, node: _CHOICE(known[node.test], known[node.body], known[node.orelse]),
    ast.NamedExpr: lambda known, node: _NAMED(known[node.target], known[node.value]),
    ast.Yield: lambda known, node: _YIELD(known[node.value]),
    ast.YieldFrom: lambda known, node: _YIELD(_FROM(known[node.value])),
    ast.Await: lambda known, node: _AWAIT(known[node.value]),
    ast.Tuple: lambda known, node: _TUPLE(_elements(known, node.elts)),
    ast.List: lambda known, node: _LIST(_elements(known, node.elts)),
    ast.Set: lambda known, node: _SET(_elements(known, node.elts)),
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: lambda known, node: _LAMBDA(parameter_nodes(known, node.args), known[node.body]),
}
"""What makes a node for each kind of expression; those inside it are known by then."""
