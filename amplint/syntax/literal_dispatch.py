"""Functions that choose what they make by a literal argument: `Accelerator(mixed_precision="fp16")` has a scaler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from amplint.syntax import options
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.names import Names
from amplint.syntax.options import Unspelled, spelled
from amplint.syntax.tree import Tree

_MAX_TRIALS = 64
"""So often a function is gone through, with another choice of what the call may give."""
_MAX_NAMES = 4
"""From a choice to the choice that one of its sides names, so many times."""


class _Undecided(Exception):
    """A function asks for more than the literal arguments of the call."""


class _Asked(Exception):
    """A function asks for a parameter whose value was not chosen yet."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def returned_for(function: cst.FunctionDef, call: cst.Call, tree: Tree, names: Names) -> cst.BaseExpression | None:
    """What a call of a function returns, if the literals among its arguments decide that.

    Of an argument that is chosen (`"fp16" if half else "no"`), each may be it: the first that makes something counts.

    Args:
        function: the function, in whatever file.
        call: the call of it.
        tree: the tree that the function is in.
        names: what the names of that file mean.
    """
    given = _given(function, call)
    waiting: list[dict[str, object]] = [{}]
    for _ in range(_MAX_TRIALS):
        if not waiting:
            break
        chosen = waiting.pop(0)
        try:
            found = _first_return(function.body.body, chosen, tree)
        except _Asked as asked:
            value = given.get(asked.name)
            values = list(_spelled_out(value, tree, names, _MAX_NAMES)) if value is not None else []
            values = values or list(_left_alone(function, asked.name, unpacked=value is None))
            waiting[:0] = [{**chosen, asked.name: each} for each in values]
        except _Undecided:
            continue
        else:
            if found is not None:
                return found
    return None


def only_return(function: cst.FunctionDef) -> cst.BaseExpression | None:
    """What a function returns that does nothing else."""
    body = function.body.body
    line = body[0] if len(body) == 1 else None
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    return small.value if isinstance(small, cst.Return) else None


def _given(function: cst.FunctionDef, call: cst.Call, bound: bool = False) -> dict[str, cst.BaseExpression | None]:
    """What a call gives to the parameters of a function, or (bound) of a method of what it makes, or leaves at their defaults;
    None for what is not known."""
    params = function.params
    ordered = [param.name.value for param in (*params.posonly_params, *params.params)]
    given: dict[str, cst.BaseExpression | None] = {each.name.value: each.default for each in _params(function)}
    if any(arg.star for arg in call.args):
        given = dict.fromkeys(given)
    free = iter(ordered[bound:])
    for arg in call.args:
        if not arg.star:
            given[arg.keyword.value if arg.keyword is not None else next(free, "")] = arg.value
    return given


def _params(function: cst.FunctionDef) -> tuple[cst.Param, ...]:
    params = function.params
    return (*params.posonly_params, *params.params, *params.kwonly_params)


def _left_alone(function: cst.FunctionDef, name: str, unpacked: bool) -> Iterator[object]:
    """What a parameter is as long as nobody asks for something else: of an argument that the text does not tell, a switch that
    is off or on by default; of arguments that are unpacked, None, too."""
    default = next((each.default for each in _params(function) if each.name.value == name), None)
    if isinstance(default, cst.Name) and default.value in ("True", "False", *(["None"] if unpacked else [])):
        yield {"True": True, "False": False}.get(default.value)


def _spelled_out(value: cst.BaseExpression, tree: Tree, names: Names, depth: int) -> Iterator[object]:
    """The literals that an argument may be; an object goes by the name of its class."""
    assigned = _assigned(value, tree, names)
    if len(assigned) > 1:
        for each in assigned if depth else ():
            yield from _spelled_out(each, tree, names, depth - 1)
        return
    constant = assigned[0] if assigned else None
    if isinstance(constant, cst.IfExp):
        for each in (constant.body, constant.orelse) if depth else ():
            yield from _spelled_out(each, tree, names, depth - 1)
    elif isinstance(constant, cst.Attribute):
        yield from options.values(constant, tree)
    elif constant is not None and _asks(constant):
        yield from (True, False)
    elif isinstance(constant, cst.Dict):
        yield dict(_entries(constant, tree, names, depth))
    elif isinstance(constant, cst.Call) and called_name(constant)[:1].isupper():
        yield called_name(constant)
    elif constant is not None:
        try:
            yield spelled(constant, tree)
        except Unspelled:
            return


def _entries(table: cst.Dict, tree: Tree, names: Names, depth: int) -> Iterator[tuple[object, object]]:
    """The keys and the values of a table, as far as literals tell them; of several that a value may be, the first."""
    for element in table.elements:
        if isinstance(element, cst.DictElement) and isinstance(element.key, cst.SimpleString):
            for value in _spelled_out(element.value, tree, names, depth):
                yield element.key.evaluated_value, value
                break


def _asks(value: cst.BaseExpression) -> bool:
    """Whether an expression is a question that the run answers: `not bf16`, `torch.cuda.is_available()`."""
    if isinstance(value, cst.UnaryOperation):
        return isinstance(value.operator, cst.Not)
    return isinstance(value, cst.Comparison) or (isinstance(value, cst.Call) and called_name(value).startswith("is_"))


def _assigned(value: cst.BaseExpression, tree: Tree, names: Names) -> list[cst.BaseExpression]:
    """What an argument stands for: itself, or what a name may be assigned, of which what comes later in any case takes the
    place of what was before, or what its function assigns to the attribute; nothing where it is not known."""
    if isinstance(value, cst.Attribute):
        return [*_put_there(value, tree), value]
    bound = names.bindings(value.value, value) if isinstance(value, cst.Name) else []
    if not bound:
        return [value]
    if len(bound) == 1 and isinstance(bound[0].node, cst.Param):
        return list(_asked_of(bound[0].node, tree))
    found: list[cst.BaseExpression] = []
    for each in bound:
        if each.value is None or each.node is None:
            return []
        found = [*found, each.value] if _is_in_a_branch(each.node, tree) else [each.value]
    return found


def _asked_of(param: cst.Param, tree: Tree) -> Iterator[cst.BaseExpression]:
    """What a parameter may be: its default, and what the calls of its function, or of its class, in the same file give it."""
    if param.default is not None and path_of(param.default) != "None":
        yield param.default
    function = tree.enclosing(param, cst.FunctionDef)
    if not isinstance(function, cst.FunctionDef):
        return
    around = tree.enclosing(function, cst.ClassDef) if function.name.value == "__init__" else function
    name = around.name.value if isinstance(around, (cst.ClassDef, cst.FunctionDef)) else ""
    called = (call for call in tree.find(cst.Call, around=tree.root(function)) if called_name(call) == name)
    for call in called:
        value = _given(function, call, bound=isinstance(around, cst.ClassDef)).get(param.name.value)
        if value is not None and value is not param.default and path_of(value) != param.name.value:
            yield value


def _put_there(asked: cst.Attribute, tree: Tree) -> Iterator[cst.BaseExpression]:
    """What its function assigns to an attribute of something, as to one of a configuration: `config.precision = "fp16"`."""
    path, home = path_of(asked), tree.function(asked)
    for assign in tree.inside(home if home is not None else tree.module, cst.Assign):
        if path and any(path_of(target.target) == path for target in assign.targets):
            yield assign.value


def _is_in_a_branch(node: cst.CSTNode, tree: Tree) -> bool:
    """Whether a node stands in a compound statement of its function that may not run it."""
    around = tree.enclosing(node, cst.If, cst.For, cst.While, cst.Try, cst.Match, cst.FunctionDef)
    return around is not None and not isinstance(around, cst.FunctionDef)


def _first_return(
    statements: Sequence[cst.CSTNode], chosen: Mapping[str, object], tree: Tree
) -> cst.BaseExpression | None:
    """What the first `return` that is reached returns.

    Raises:
        _Asked: a test on the way there asks for a parameter that was not chosen yet.
        _Undecided: such a test cannot be decided.
    """
    for statement in statements:
        if isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[-1], cst.Return):
            return statement.body[-1].value
        if isinstance(statement, cst.If):
            taken = statement.body if _truth(statement.test, chosen, tree) else statement.orelse
            inner = taken.body if isinstance(taken, cst.Else) else taken
            block = [inner] if isinstance(inner, cst.If) else inner.body if inner is not None else ()
            found = _first_return(block, chosen, tree)
            if found is not None:
                return found
        elif not isinstance(statement, (cst.SimpleStatementLine, cst.FunctionDef, cst.ClassDef)):
            raise _Undecided
    return None


def _truth(test: cst.BaseExpression, chosen: Mapping[str, object], tree: Tree) -> bool:
    """The truth of a test that compares a parameter with literals.

    Raises:
        _Asked: the value of the parameter was not chosen yet.
        _Undecided: it asks for something else.
    """
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        operator, right = test.comparisons[0].operator, test.comparisons[0].comparator
        if isinstance(operator, (cst.Equal, cst.Is, cst.In)):
            value = _chosen(test.left, chosen, tree)
            try:
                wanted = spelled(right, tree)
                return value in wanted if isinstance(operator, cst.In) else bool(value == wanted)
            except (TypeError, Unspelled) as error:
                raise _Undecided from error
    raise _Undecided


def _chosen(asked: cst.BaseExpression, chosen: Mapping[str, object], tree: Tree) -> object:
    """The value of a parameter, or of a key of it (`config["fp16"]["enabled"]`); None where there is no such key.

    Raises:
        _Asked: the value of the parameter was not chosen yet.
        _Undecided: it is something else.
    """
    match asked:
        case cst.Name(value=name):
            if name not in chosen:
                raise _Asked(name)
            return chosen[name]
        case cst.Subscript(value=whole, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
            table = _chosen(whole, chosen, tree)
            return table.get(key.evaluated_value) if isinstance(table, dict) else None
    raise _Undecided
