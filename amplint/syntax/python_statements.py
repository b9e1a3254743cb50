"""Statements of Python's own tree as LibCST's nodes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from amplint.syntax.nodes import NodeLookup, maker
from amplint.syntax.python_expressions import annotation, argument_nodes, dotted_name, parameter_nodes

_NAME = maker(cst.Name, "value")
_EXPRESSION, _RETURN = maker(cst.Expr, "value"), maker(cst.Return, "value")
_ASSIGN, _TARGET = maker(cst.Assign, "targets", "value"), maker(cst.AssignTarget, "target")
_ANNOTATED = maker(cst.AnnAssign, "target", "annotation", "value")
_AUGMENTED = maker(cst.AugAssign, "target", "operator", "value")
_IMPORT, _IMPORT_FROM = maker(cst.Import, "names"), maker(cst.ImportFrom, "module", "names", "relative")
_ALIAS, _AS_NAME = maker(cst.ImportAlias, "name", "asname"), maker(cst.AsName, "name")
_STAR, _DOT = maker(cst.ImportStar), maker(cst.Dot)
_DELETE, _TUPLE, _ELEMENT = maker(cst.Del, "target"), maker(cst.Tuple, "elements"), maker(cst.Element, "value")
_GLOBAL, _NONLOCAL, _ITEM = maker(cst.Global, "names"), maker(cst.Nonlocal, "names"), maker(cst.NameItem, "name")
_RAISE, _FROM, _ASSERT = maker(cst.Raise, "exc", "cause"), maker(cst.From, "item"), maker(cst.Assert, "test", "msg")
_PASS, _BREAK, _CONTINUE = maker(cst.Pass), maker(cst.Break), maker(cst.Continue)
_IF, _WHILE = maker(cst.If, "test", "body", "orelse"), maker(cst.While, "test", "body", "orelse")
_FOR = maker(cst.For, "target", "iter", "body", "orelse", "asynchronous")
_WITH, _WITH_ITEM = maker(cst.With, "items", "body", "asynchronous"), maker(cst.WithItem, "item", "asname")
_TRY = maker(cst.Try, "body", "handlers", "orelse", "finalbody")
_TRY_STAR = maker(cst.TryStar, "body", "handlers", "orelse", "finalbody")
_HANDLER = maker(cst.ExceptHandler, "body", "type", "name")
_STAR_HANDLER = maker(cst.ExceptStarHandler, "body", "type", "name")
_FINALLY = maker(cst.Finally, "body")
_FUNCTION = maker(cst.FunctionDef, "name", "params", "body", "decorators", "returns", "asynchronous")
_CLASS = maker(cst.ClassDef, "name", "body", "bases", "keywords", "decorators")
_DECORATOR, _ASYNCHRONOUS = maker(cst.Decorator, "decorator"), maker(cst.Asynchronous)
_AUGMENTING = {
    ast.Add: maker(cst.AddAssign), ast.Sub: maker(cst.SubtractAssign), ast.Mult: maker(cst.MultiplyAssign),
    ast.Div: maker(cst.DivideAssign), ast.FloorDiv: maker(cst.FloorDivideAssign), ast.Mod: maker(cst.ModuloAssign),
    ast.Pow: maker(cst.PowerAssign), ast.MatMult: maker(cst.MatrixMultiplyAssign), ast.BitOr: maker(cst.BitOrAssign),
    ast.LShift: maker(cst.LeftShiftAssign), ast.RShift: maker(cst.RightShiftAssign), ast.BitXor: maker(cst.BitXorAssign),
    ast.BitAnd: maker(cst.BitAndAssign),
}  # fmt: skip


def _alias(node: ast.alias) -> Any:
    return _ALIAS(dotted_name(node.name), None if node.asname is None else _AS_NAME(_NAME(node.asname)))


def _import_from(known: NodeLookup, node: ast.ImportFrom) -> Any:
    names: Any = tuple(map(_alias, node.names)) if node.names[0].name != "*" else _STAR()
    module = None if node.module is None else dotted_name(node.module)
    return _IMPORT_FROM(module, names, tuple(_DOT() for _ in range(node.level)))


def _delete(known: NodeLookup, node: ast.Delete) -> Any:
    if len(node.targets) == 1 and not known.text(node).rstrip().endswith(","):
        return _DELETE(known[node.targets[0]])
    return _DELETE(_TUPLE(tuple(_ELEMENT(known[each]) for each in node.targets)))


def _names(names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(_ITEM(_NAME(name)) for name in names)


def _if(known: NodeLookup, node: ast.If) -> Any:
    return _IF(known[node.test], known.block(node.body), known.orelse(node.orelse))


def _for(known: NodeLookup, node: Any) -> Any:
    mark = _ASYNCHRONOUS() if isinstance(node, ast.AsyncFor) else None
    return _FOR(known[node.target], known[node.iter], known.block(node.body), known.orelse(node.orelse), mark)


def _with(known: NodeLookup, node: Any) -> Any:
    items = tuple(_WITH_ITEM(known[each.context_expr], _named(known[each.optional_vars])) for each in node.items)
    return _WITH(items, known.block(node.body), _ASYNCHRONOUS() if isinstance(node, ast.AsyncWith) else None)


def _named(node: Any) -> Any:
    return None if node is None else _AS_NAME(node)


def _try(known: NodeLookup, node: Any) -> Any:
    make, handler = (_TRY, _HANDLER) if isinstance(node, ast.Try) else (_TRY_STAR, _STAR_HANDLER)
    handlers = tuple(
        handler(known.block(each.body), known[each.type], _named(_NAME(each.name) if each.name else None))
        for each in node.handlers
    )
    final = _FINALLY(known.block(node.finalbody)) if known.kept(node.finalbody) else None
    return make(known.block(node.body), handlers, known.orelse(node.orelse), final)


def _function(known: NodeLookup, node: Any) -> Any:
    mark = _ASYNCHRONOUS() if isinstance(node, ast.AsyncFunctionDef) else None
    params, body = parameter_nodes(known, node.args), known.block(node.body)
    return _FUNCTION(_NAME(node.name), params, body, _decorators(known, node), annotation(known, node.returns), mark)


def _class(known: NodeLookup, node: ast.ClassDef) -> Any:
    given = argument_nodes(known, node.bases, node.keywords)
    bases = tuple(each for each in given if each.keyword is None and each.star != "**")
    keywords = tuple(each for each in given if each.keyword is not None or each.star == "**")
    return _CLASS(_NAME(node.name), known.block(node.body), bases, keywords, _decorators(known, node))


def _decorators(known: NodeLookup, node: Any) -> tuple[Any, ...]:
    return tuple(_DECORATOR(known[each]) for each in node.decorator_list)


def _raise(known: NodeLookup, node: ast.Raise) -> Any:
    return _RAISE(known[node.exc], None if node.cause is None else _FROM(known[node.cause]))


SMALL_STATEMENTS: dict[type[ast.AST], Callable[[NodeLookup, Any], Any]] = {
    ast.Expr: lambda known, node: _EXPRESSION(known[node.value]),
    ast.Assign: lambda known, node: _ASSIGN(tuple(_TARGET(known[each]) for each in node.targets), known[node.value]),
    ast.Return: lambda known, node: _RETURN(known[node.value]),
    ast.AugAssign: lambda known, node: _AUGMENTED(known[node.target], _AUGMENTING[type(node.op)](), known[node.value]),
    ast.AnnAssign: lambda known, node: _ANNOTATED(
        known[node.target], annotation(known, node.annotation), known[node.value]
    ),
    ast.Import: lambda known, node: _IMPORT(tuple(map(_alias, node.names))),
    ast.ImportFrom: _import_from,
    ast.Delete: _delete,
    ast.Global: lambda known, node: _GLOBAL(_names(node.names)),
    ast.Nonlocal: lambda known, node: _NONLOCAL(_names(node.names)),
    ast.Raise: _raise,
    ast.Assert: lambda known, node: _ASSERT(known[node.test], known[node.msg]),
    ast.Pass: lambda known, node: _PASS(),
    ast.Break: lambda known, node: _BREAK(),
    ast.Continue: lambda known, node: _CONTINUE(),
}
"""What makes a node for each kind of statement that holds no others."""
COMPOUND_STATEMENTS: dict[type[ast.AST], Callable[[NodeLookup, Any], Any]] = {
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: lambda known, node: _WHILE(known[node.test], known.block(node.body), known.orelse(node.orelse)),
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
}
"""What makes a node for each kind of statement that holds others."""
if hasattr(ast, "TryStar"):
    COMPOUND_STATEMENTS[ast.TryStar] = _try
