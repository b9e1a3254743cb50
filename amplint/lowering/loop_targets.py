"""Targets of loops: which names a loop assigns, and which collection their values are elements of."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.function_scope import MAX_UNROLLED, OBJECTS, FunctionScope, picked_by
from amplint.lowering.picked_elements import are_objects, picked_by_calls
from amplint.model.events import ObjectFacts
from amplint.syntax.access_paths import path_of
from amplint.syntax.loop_elements import paired
from amplint.syntax.nodes import is_sequence
from amplint.syntax.tree import Tree


def target_names(target: cst.CSTNode) -> list[str]:
    """The names that a loop assigns."""
    if isinstance(target, cst.Name):
        return [target.value]
    if is_sequence(target):
        return [name for element in target.elements for name in target_names(element.value)]
    return []


def members(node: cst.For, source: cst.BaseExpression, scope: FunctionScope) -> list[tuple[str, str]]:
    """The target of a loop with what it refers to each time, where the loop runs over a short literal collection of objects,
    or over a name for one, or over one key by which an object is picked.

    Args:
        node: the loop.
        source: what it runs over.
        scope: that of the function that it stands in.
    """
    shown = _shown(source, scope)
    if not is_sequence(shown) or not isinstance(node.target, cst.Name):
        return []
    found = [element.value for element in shown.elements]
    used = scope.roles.of(node.target).role in OBJECTS
    known = all((used or scope.roles.of(member).role in OBJECTS) and path_of(member) for member in found)
    if known and len(found) <= MAX_UNROLLED:
        return [(node.target.value, scope.ref(member)) for member in found]
    only = only_key(node.target, shown, node.body, scope)
    return [only] if only is not None else []


def only_key(
    target: cst.CSTNode, source: cst.BaseExpression, body: cst.CSTNode, scope: FunctionScope
) -> tuple[str, str] | None:
    """The target of a loop with what it refers to, where the loop runs over a single key by which it picks an object: `[key]`.

    Args:
        target: what the loop assigns.
        source: what it runs over.
        body: what it repeats.
        scope: that of the function that it stands in.
    """
    element = _one_of(_shown(source, scope))
    if element is None or not isinstance(target, cst.Name) or target.value not in picking_names(target, body, scope):
        return None
    return target.value, scope.ref(element)


def chosen_keys(
    target: cst.CSTNode, source: cst.BaseExpression, body: cst.CSTNode, scope: FunctionScope
) -> cst.IfExp | None:
    """The choice between one key and others, where a loop runs over either: `[key] if key is not None else self.keys`.

    Args:
        target: what the loop assigns.
        source: what it runs over.
        body: what it repeats, in which the key picks an object.
        scope: that of the function that it stands in.
    """
    choice = _shown(source, scope)
    if not isinstance(choice, cst.IfExp) or any(scope.program.tree.inside(choice.test, cst.Call)):
        return None
    sides = _one_of(choice.body), _one_of(choice.orelse)
    return choice if any(sides) and picking_names(target, body, scope) else None


def _shown(source: cst.BaseExpression, scope: FunctionScope) -> cst.BaseExpression | None:
    """What a local name stands for; any other expression itself."""
    return scope.definition(source) if isinstance(source, cst.Name) else source


def _one_of(source: cst.BaseExpression | None) -> cst.BaseExpression | None:
    """The only element of a display, if it is a name."""
    elements = source.elements if is_sequence(source) else ()
    return elements[0].value if len(elements) == 1 and type(elements[0].value) is cst.Name else None


def alias_elements(node: cst.For, scope: FunctionScope) -> bool:
    """Whether a loop runs over a collection of optimizers, scalers or schedulers; names its elements after it.

    Args:
        node: the loop.
        scope: that of the function that it stands in.
    """
    named = name_elements(node, scope)
    return _picks_objects(node, scope) or named


def name_elements(node: cst.For | cst.CompFor, scope: FunctionScope) -> bool:
    """Name the optimizers, scalers or schedulers that a loop takes from collections after these; tells whether there are any.

    Args:
        node: the loop, which may be one of a comprehension.
        scope: that of the function that it stands in.
    """
    found = False
    pairs = paired(node.target, node.iter)
    for target, source in pairs:
        beside = [name for name, other in pairs if other is source]
        part = f"[{beside.index(target)}]" if len(beside) > 1 else ""
        container = _collection(source, scope)
        roles = {scope.roles.of(target).role, "" if part else scope.roles.of(source).role}
        if container and roles & OBJECTS:
            element = f"{container}{part}[*]"
            scope.aliases[target.value] = element
            scope.objects.setdefault(element, ObjectFacts(sorted(roles & OBJECTS)[0]))
            found = True
    return found


def _picks_objects(node: cst.For, scope: FunctionScope) -> bool:
    """Whether the iterations of a loop pick one optimizer or schedule after the other by their number or key, for one step
    each; such an element is referred to as any element of its collection is."""
    tree = scope.program.tree
    inner = (loop for kind in (cst.For, cst.While) for loop in tree.inside(node.body, kind))
    if any("step" in tree.words(loop) for loop in inner):
        return False
    picking = picking_names(node.target, node.body, scope)
    scope.picking |= picking
    return bool(picking)


def picking_names(target: cst.CSTNode, body: cst.CSTNode, scope: FunctionScope) -> frozenset[str]:
    """The numbers and keys of a loop by which it, or what it calls with them, picks optimizers, scalers or schedules.

    Args:
        target: what the loop assigns.
        body: what it repeats.
        scope: that of the function that it stands in.
    """
    tree, targets = scope.program.tree, set(target_names(target))
    elements = (each for each in tree.inside(body, cst.Subscript) if picked_by(each) in targets)
    picking = {picked_by(each) for each in elements if any(map(scope.is_object, (each, *_names_for(each, tree))))}
    by_calls = {each for each in targets if are_objects(picked_by_calls(body, each, scope), scope)}
    return frozenset(picking | by_calls)


def _names_for(element: cst.Subscript, tree: Tree) -> list[cst.BaseExpression]:
    """What an assignment calls an element."""
    above = tree.parent(element)
    return [target.target for target in above.targets] if isinstance(above, cst.Assign) else []


def _collection(source: cst.BaseExpression, scope: FunctionScope) -> str:
    """The reference of what a loop runs over; what a function yields is named after it, whatever it is asked for."""
    if isinstance(source, cst.Call):
        called = path_of(source.func)
        return f"{scope.qualify(called)}()" if called else ""
    return scope.ref(source)


def name_owners(node: cst.For, scope: FunctionScope) -> None:
    """Note where the parameters come from that the targets of a loop stand for.

    Args:
        node: the loop.
        scope: that of the function that it stands in.
    """
    owners = tuple(map(scope.qualify, scope.roles.owners(node.iter)))
    root = path_of(node.iter).partition(".")[0].partition("[")[0]
    for name in target_names(node.target):
        scope.loop_owners[name] = owners or scope.loop_owners.get(root, ())
