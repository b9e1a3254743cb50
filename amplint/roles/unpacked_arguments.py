"""What a call is given, once what it unpacks (`autocast(**options)`) and what it only hands on is read."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.roles.context_values import ContextValues
from amplint.syntax.access_paths import literal_key
from amplint.syntax.call_arguments import params_of
from amplint.syntax.names import Names
from amplint.syntax.tree import Tree

_MAX_DEPTH = 8
_MOST = 8
"""Arguments that may read in more ways than this are unknown."""

Arguments = tuple[cst.Arg, ...]


class UnpackedArguments:
    """Reads the arguments of the calls of one file.

    Args:
        tree: the file.
        names: what its names mean.
        values: what expressions may be, one step back.
    """

    def __init__(self, tree: Tree, names: Names, values: ContextValues) -> None:
        self._tree, self._names, self._values = tree, names, values

    def of(self, args: Sequence[cst.Arg], depth: int = 0) -> list[Arguments]:
        """The ways in which arguments may read without their stars; what nobody can read keeps its star.

        Args:
            args: those of a call.
            depth: how many dicts led here.
        """
        if not any(arg.star == "**" for arg in args):
            return [tuple(args)]
        ways: list[Arguments] = [()]
        for arg in args:
            held = self._ways(arg.value, depth) if arg.star == "**" else []
            ways = [(*way, *more) for way in ways for more in held or [(arg,)]]
        return ways if len(ways) <= _MOST else [tuple(args)]

    def handed_on(self, args: Sequence[cst.Arg], function: cst.FunctionDef, given: Sequence[cst.Arg]) -> Arguments:
        """The arguments of a call inside of a function, as they read for one call of the function: with what that call gives in
        the place of parameters.

        Args:
            args: those of the call inside.
            function: what holds it.
            given: those of the call of the function.
        """
        named, rest = _bound(function, given)
        found: list[cst.Arg] = []
        for arg in args:
            name = arg.value.value if type(arg.value) is cst.Name else ""
            extra = function.params.star_kwarg
            if arg.star == "**" and extra is not None and name == extra.name.value and not self._is_written(arg.value):
                found += rest
            elif not arg.star and name in named and self._is_parameter(arg.value):
                found.append(cst.Arg(keyword=arg.keyword, value=named[name]))
            else:
                found.append(arg)
        return tuple(found)

    def _ways(self, node: cst.BaseExpression, depth: int) -> list[Arguments]:
        """What an expression may unpack to; empty when something unknown is among it."""
        if depth > _MAX_DEPTH:
            return []
        if isinstance(node, cst.Dict):
            shown = [_as_argument(each) for each in node.elements]
            args = [arg for arg in shown if arg is not None]
            return self.of(args, depth + 1) if len(args) == len(shown) else []
        if isinstance(node, cst.Call) and self._names.all_in(node.func, {"builtins.dict"}):
            keyed = all(arg.keyword is not None or arg.star == "**" for arg in node.args)
            return self.of(node.args, depth + 1) if keyed else []
        if self._is_written(node):
            return []
        held = [self._ways(each, depth + 1) for each in self._values.behind(node) or self._values.returned(node)]
        return [way for ways in held for way in ways] if all(held) else []

    def _is_written(self, node: cst.BaseExpression) -> bool:
        """Whether a dict may be written into after it was made: whether it is used for more than to be unpacked, or mentioned in
        rows of the file that are not read."""
        last = node.attr if isinstance(node, cst.Attribute) else node
        if not isinstance(last, cst.Name):
            return False
        homes: list[cst.CSTNode] = [self._tree.root(node)]
        if node is last:
            places = [each.node or node for each in self._names.bindings(last.value, last)]
            homes = [self._tree.enclosing(each, cst.FunctionDef) or self._tree.root(each) for each in places]
        kind = cst.Attribute if isinstance(node, cst.Attribute) else cst.Name
        if any(self._tree.is_said_in_left_out_rows(last.value, home) for home in homes):
            return True
        mentions = (each for home in homes for each in self._tree.inside(home, kind))
        return any(_called(each) == last.value and not self._keeps(each) for each in mentions)

    def _keeps(self, mention: cst.CSTNode) -> bool:
        """Whether what mentions a dict leaves it as it is."""
        parent = self._tree.parent(mention)
        if isinstance(parent, cst.Arg):
            return parent.star == "**" or parent.keyword is mention
        if isinstance(parent, cst.Attribute):
            return parent.attr is mention
        return isinstance(
            parent,
            (cst.AssignTarget, cst.AnnAssign, cst.Param, cst.Return, cst.StarredDictElement, cst.BooleanOperation),
        )

    def _is_parameter(self, name: cst.BaseExpression) -> bool:
        """Whether a name is that of a parameter, which is assigned nothing else."""
        bindings = self._names.bindings(name.value, name) if isinstance(name, cst.Name) else []
        return len(bindings) == 1 and isinstance(bindings[0].node, cst.Param)


def _called(node: cst.CSTNode) -> str:
    last = node.attr if type(node) is cst.Attribute else node
    return last.value if type(last) is cst.Name else ""


def _as_argument(element: cst.BaseDictElement) -> cst.Arg | None:
    """An element of a dict as the argument that it is unpacked to; None where its key is not written out."""
    if isinstance(element, cst.StarredDictElement):
        return cst.Arg(element.value, star="**")
    key = literal_key(element.key) if isinstance(element, cst.DictElement) else ""
    return cst.Arg(element.value, keyword=cst.Name(key)) if key.isidentifier() else None


def _bound(function: cst.FunctionDef, given: Sequence[cst.Arg]) -> tuple[dict[str, cst.BaseExpression], list[cst.Arg]]:
    """What a call gives to the named parameters of a function, defaults included, and the keywords that are left for `**kwargs`.

    Where a call unpacks something, no parameter is known to keep its default, or to get what stands behind a `*`.
    """
    params = params_of(function)
    bound: dict[str, cst.BaseExpression] = {}
    if not any(arg.star for arg in given):
        bound = {each.name.value: each.default for each in params if each.default is not None}
    positional = [each.name.value for each in params if each not in function.params.kwonly_params]
    free = iter(positional[1:] if positional[:1] in (["self"], ["cls"]) else positional)
    rest: list[cst.Arg] = []
    for arg in given:
        name = arg.keyword.value if arg.keyword is not None else ""
        if arg.star == "*":
            free = iter(())
        elif arg.star or (name and not any(name == each.name.value for each in params)):
            rest.append(arg)
        elif name := name or next(free, ""):
            bound[name] = arg.value
    return bound, rest
