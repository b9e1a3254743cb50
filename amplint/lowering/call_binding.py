"""What a call passes: what the parameters of a function, and the attributes of its object, mean to the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from amplint.lowering.conditions import constant
from amplint.lowering.function_scope import FunctionScope
from amplint.lowering.gradients import argument
from amplint.lowering.picked_elements import meanings_of_keys
from amplint.model.event_graph import Condition
from amplint.model.references import reference
from amplint.roles.call_targets import Callee
from amplint.syntax.access_paths import called_name
from amplint.syntax.call_arguments import params_of
from amplint.syntax.nodes import is_reference, within

_COMPUTED = (cst.Call, cst.BinaryOperation)
_CONDITIONS = (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation, cst.Name)


def binding(
    callee: Callee, call: cst.Call, caller: FunctionScope, unnamed: Callable[[cst.BaseExpression], str]
) -> tuple[tuple[str, str], ...]:
    """What the parameters of a called function mean to the caller; an empty reference is some other value.

    Args:
        callee: the function that is called.
        call: the call.
        caller: the scope in which it stands.
        unnamed: gives the value of an argument a reference, which a loss needs: it may be a scaled one.
    """
    names = [param.name.value for param in params_of(callee.node)]
    losses = {name for name in names if reference(name).may_be_loss}
    starred = next((arg.value for arg in call.args if arg.star), None)
    bound = {name: unnamed(starred) if starred is not None and name in losses else "" for name in names}
    for name, value in _given(callee, call, caller):
        if isinstance(value, str):
            bound[name] = value
        elif constant(value) is None:
            is_loss = name in losses or (isinstance(value, _COMPUTED) and name in _used_as_losses(callee.node, caller))
            bound[name] = caller.ref(value) or (unnamed(value) if is_loss else "")
    return (
        *_kept(callee, caller),
        *meanings_of_keys(callee, [*_given(callee, call, caller)], caller),
        *_collected(callee, call, caller),
        *bound.items(),
    )


def _used_as_losses(node: cst.FunctionDef, caller: FunctionScope) -> set[str]:
    """The names in what a function scales, or runs a backward pass of: whatever they are, a loss is computed from them."""
    losses: list[cst.BaseExpression] = []
    for call in caller.program.tree.inside(node, cst.Call):
        if type(call.func) is cst.Attribute and call.func.attr.value == "backward":
            losses.append(call.func.value)
        elif called_name(call) == "scale":
            losses += [arg.value for arg in call.args]
        elif called_name(call) == "grad" and (outputs := argument(call, 0, ("outputs",))) is not None:
            losses.append(outputs)
    return {name.value for each in losses for name in within(each) if type(name) is cst.Name}


def _collected(callee: Callee, call: cst.Call, caller: FunctionScope) -> Iterator[tuple[str, str]]:
    """The elements of a function's `*args`, or all of them where the call hands on a collection, with what the caller calls
    them; several that one call gives are told apart from those of other calls by their names."""
    collecting = callee.node.params.star_arg
    if not isinstance(collecting, cst.Param):
        return
    name, named = collecting.name.value, _positional(callee, caller)
    rest = [arg for arg in call.args if arg.keyword is None and arg.star != "**"][len(named) :]
    if len(rest) == 1 and rest[0].star:
        yield name, caller.ref(rest[0].value)
    elif not any(arg.star for arg in call.args):
        given = [caller.ref(arg.value) for arg in rest]
        yield from ((f"{name}[{index}]", each) for index, each in enumerate(given))
        if len(given) == 1:
            yield f"{name}[*]", given[0]


def _kept(callee: Callee, caller: FunctionScope) -> Iterator[tuple[str, str]]:
    """The attributes that keep what the constructor of an object was given, with what the caller calls it."""
    info = caller.program.classes.instance_of(callee.made) if callee.made is not None else None
    init = info.method("__init__") if info is not None else None
    if info is None or init is None or callee.made is None:
        return
    given = {
        name: value
        for name, value in _given(Callee(callee.key, init, ""), callee.made, caller)
        if not isinstance(value, str) and caller.names_the_same(value, callee.made)
    }
    for attribute, values in info.attributes.items():
        kept = values[0].value if len(values) == 1 and isinstance(values[0], cst.Name) else ""
        if (
            kept in given
            and caller.program.tree.enclosing(values[0], cst.FunctionDef) is init
            and caller.ref(given[kept])
        ):
            yield f"self.{attribute}", caller.ref(given[kept])


def truths(callee: Callee, call: cst.Call, caller: FunctionScope) -> tuple[tuple[str, bool], ...]:
    """The parameters that a call gives a constant, or leaves at one, with its truth.

    Args:
        callee: the function that is called.
        call: the call.
        caller: the scope in which it stands.
    """
    found = {
        param.name.value: truth
        for param in params_of(callee.node)
        if param.default is not None and (truth := constant(param.default)) is not None
    }
    for name, value in _given(callee, call, caller):
        truth = None if isinstance(value, str) else True if _is_there(value, caller) else constant(value)
        found.pop(name, None)
        if truth is not None:
            found[name] = truth
    return tuple(found.items()) if not any(arg.star for arg in call.args) else ()


def conditions(
    callee: Callee, call: cst.Call, caller: FunctionScope, read: Callable[[cst.BaseExpression], Condition]
) -> tuple[tuple[str, Condition], ...]:
    """The parameters that get the outcome of a condition, and keep it.

    Args:
        callee: the function that is called.
        call: the call.
        caller: the scope in which it stands.
        read: reads a condition of the caller.
    """
    bound = caller.names.bindings_in(callee.node)
    return tuple(
        (name, read(value))
        for name, value in _given(callee, call, caller)
        if isinstance(value, _CONDITIONS) and constant(value) is None and len(bound.get(name, ())) == 1
    )


def _given(callee: Callee, call: cst.Call, caller: FunctionScope) -> Iterator[tuple[str, str | cst.BaseExpression]]:
    """Each parameter that a call fills, with the expression it gets; the receiver as a reference."""
    names = {param.name.value for param in params_of(callee.node)}
    free = iter(_positional(callee, caller))
    if callee.receiver is not None and (bound_to := _bound_to(callee, caller)):
        yield bound_to, caller.qualify(callee.receiver)
    for arg in call.args:
        if arg.star:
            break
        name = arg.keyword.value if arg.keyword is not None else next(free, "")
        if name in names:
            yield name, arg.value


def _positional(callee: Callee, caller: FunctionScope) -> list[str]:
    """The parameters that a call fills by position, without the one that gets the receiver."""
    params = callee.node.params
    names = [param.name.value for param in (*params.posonly_params, *params.params)]
    return names[1:] if _bound_to(callee, caller) else names


def _bound_to(callee: Callee, caller: FunctionScope) -> str:
    """The parameter that gets the receiver; empty where there is none."""
    params = callee.node.params
    if callee.receiver is None or _is_static(callee.node, caller):
        return ""
    return next((param.name.value for param in (*params.posonly_params, *params.params)), "")


def _is_static(node: cst.FunctionDef, caller: FunctionScope) -> bool:
    return any(caller.names.all_in(decorator.decorator, {"builtins.staticmethod"}) for decorator in node.decorators)


def _is_there(value: cst.BaseExpression, caller: FunctionScope) -> bool:
    """Whether a value is surely not None: a text of some length, or an optimizer that nobody may leave out."""
    if not is_reference(value) or caller.roles.of(value).role != "optimizer":
        return _is_text(value)
    bound = caller.names.bindings(value.value, value) if isinstance(value, cst.Name) else []
    return not any(isinstance(each.node, cst.Param) and each.node.default is not None for each in bound)


def _is_text(value: cst.BaseExpression) -> bool:
    """Whether a value is a text of some length, which is true, and not None."""
    return isinstance(value, cst.SimpleString) and bool(value.evaluated_value)
