"""Regions that decorators of the project put around functions: `with autocast(enabled=False): return function(*args)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from amplint.syntax.tree import Tree


class WrappingDecorators:
    """Those of one file, also the ones that it imports.

    Args:
        tree: the file.
        defined: gives the function that a name means, in whichever file.
    """

    def __init__(self, tree: Tree, defined: Callable[[cst.BaseExpression], cst.FunctionDef | None]) -> None:
        self._tree, self._defined = tree, defined
        self._known: dict[cst.FunctionDef, list[cst.Call]] = {}

    def runs(self, decorator: cst.BaseExpression) -> list[cst.Call]:
        """The calls by which a decorator runs what it decorates, in the function that it puts in its place.

        Args:
            decorator: `@force_float32`, or `@force_float32(apply_to="scores")`.
        """
        maker = self._defined(decorator.func if isinstance(decorator, cst.Call) else decorator)
        if maker is None:
            return []
        if maker not in self._known:
            self._known[maker] = [call for call in self._tree.inside(maker, cst.Call) if self._runs_given(call)]
        return self._known[maker]

    def _runs_given(self, call: cst.Call) -> bool:
        """Whether a call is of a parameter of a function around its own: of what a decorator was given."""
        if not isinstance(call.func, cst.Name):
            return False
        inner, *outer = self._functions(call)
        return not _takes(inner, call.func.value) and any(_takes(each, call.func.value) for each in outer)

    def _functions(self, node: cst.CSTNode) -> Iterator[cst.FunctionDef]:
        return (above for above in self._tree.ancestors(node) if isinstance(above, cst.FunctionDef))


def _takes(function: cst.FunctionDef, name: str) -> bool:
    params = function.params
    return any(each.name.value == name for each in (*params.posonly_params, *params.params, *params.kwonly_params))
