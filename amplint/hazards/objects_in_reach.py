"""What is known of the objects in a function, and in all that it may call."""

from __future__ import annotations

from collections.abc import Mapping

from amplint.lowering.graph_tools import events_in
from amplint.model.event_graph import Call, Function
from amplint.model.events import GLOBAL, ObjectFacts
from amplint.model.exploration.call_references import MAX_DEPTH, Frame


def objects_in(function: Function, functions: Mapping[str, Function]) -> dict[str, ObjectFacts]:
    """What is known of the references in a function and in all that it may call, as the function itself would write them.

    Args:
        function: the function that is explored.
        functions: the graphs that its calls may enter, by key.
    """
    objects: dict[str, ObjectFacts] = {}
    waiting, seen = [(function, 0, Frame(function))], {(function.key, "self")}
    while waiting:
        current, depth, frame = waiting.pop(0)
        for name, facts in current.objects.items():
            shared = name.startswith((GLOBAL, "self."))
            if (current is function or shared) and (reference := frame.ref(name)):
                objects.setdefault(reference, facts)
        for event in events_in(current.body):
            if isinstance(event, Call) and depth < MAX_DEPTH:
                binding = tuple((name, frame.ref(value)) for name, value in event.binding if _is_object(name))
                called = event.function, dict(binding).get("self", "self")
                if called not in seen:
                    seen.add(called)
                    waiting.append((functions[event.function], depth + 1, Frame(functions[event.function], binding)))
    return objects


def _is_object(parameter: str) -> bool:
    """Whether a parameter is the object that a method is called on, or an attribute of it."""
    return parameter == "self" or parameter.startswith("self.")
