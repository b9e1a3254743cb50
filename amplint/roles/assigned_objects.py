"""What is assigned to the objects of one file: to names and attributes, and to elements under the keys that are spelled out."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.model import vocabulary
from amplint.syntax.access_paths import called, element_of, literal_key, may_hold, path_of
from amplint.syntax.classes import Classes
from amplint.syntax.value_flow import ValueFlow


class AssignedObjects:
    """The values of the objects of one file.

    Args:
        classes: its classes, whose attributes hold objects.
        flow: where values come from.
    """

    def __init__(self, classes: Classes, flow: ValueFlow) -> None:
        self._classes, self._flow = classes, flow

    def values(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """What may be assigned to what an expression names; of a display by keys, what it holds under the one that is asked, or
        what is put there later."""
        put = list(self._put(node)) if type(node) is cst.Subscript else []
        yield from put
        for value in self._flow.values(node):
            element = element_of(value, node)
            returned: list[cst.BaseExpression] = []
            if element is value and type(value) is cst.Call and type(node) is cst.Subscript and literal_key(node):
                returned = list(self._of_returned(value, node))
                yield from returned
            if not returned and (not put or element is not value) and may_hold(value, node):
                if element is not value or type(node) is not cst.Subscript or _may_be_made_by(value, node):
                    yield element

    def _of_returned(self, call: cst.Call, node: cst.Subscript) -> Iterator[cst.BaseExpression]:
        """What the dict that a call of a function at hand gives back holds under the key that is asked."""
        for returned in self._flow.returned(self._flow.called(call)):
            element = element_of(returned, node)
            if element is not returned:
                yield element

    def _put(self, node: cst.Subscript) -> Iterator[cst.BaseExpression]:
        """What its function, or its object, assigns to an element by a literal key (`state["scheduler"] = scheduler`)."""
        key, path = literal_key(node), path_of(node.value)
        owner = self._classes.owner(node) if path.startswith("self.") else None
        places = [method.body for method in owner.methods.values()] if owner is not None else [node]
        stored = (pair for place in places for pair in self._flow.put(path, place)) if key and path else ()
        return (value for element, value in stored if literal_key(element) == key)


def _may_be_made_by(value: cst.BaseExpression, node: cst.Subscript) -> bool:
    """Whether an element of what a call gives may be what the call says that it makes: of `parts = build_optimizer(net)`, that
    may be a dict of several things, neither `parts["scheduler"]` nor `parts[1]` is an optimizer for all that is known."""
    if type(value) is not cst.Call or vocabulary.OPTIMIZER_MAKER.search(called(path_of(value.func))) is None:
        return True
    if key := literal_key(node):
        return vocabulary.SCHEDULER.search(key) is None
    return vocabulary.OPTIMIZER.search(called(path_of(node.value))) is not None
