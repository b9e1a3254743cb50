"""Targets of loops: which names a loop assigns, and which collection their values are elements of."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.function_scope import MAX_UNROLLED, OBJECTS, FunctionScope, picked_by
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


def members(node: cst.For, scope: FunctionScope) -> list[tuple[str, str]]:
    """The target of a loop with what it refers to each time, where the loop runs over a short literal collection of objects,
    or over a name for one.

    Args:
        node: the loop.
        scope: that of the function that it stands in.
    """
    source = scope.definition(node.iter) if isinstance(node.iter, cst.Name) else node.iter
    if not is_sequence(source) or not isinstance(node.target, cst.Name):
        return []
    found = [element.value for element in source.elements]
    used = scope.roles.of(node.target).role in OBJECTS
    known = all((used or scope.roles.of(member).role in OBJECTS) and path_of(member) for member in found)
    short = known and len(found) <= MAX_UNROLLED
    return [(node.target.value, scope.ref(member)) for member in found] if short else []


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
    targets = set(target_names(node.target))
    elements = (each for each in tree.inside(node.body, cst.Subscript) if picked_by(each) in targets)
    picking = {picked_by(each) for each in elements if any(map(scope.is_object, (each, *_names_for(each, tree))))}
    scope.picking |= picking
    return bool(picking)


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
