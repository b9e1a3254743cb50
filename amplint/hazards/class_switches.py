"""Scalers that classes switch on and off: `amp = False` below a base class that makes `GradScaler(enabled=self.amp)`."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from amplint.model.events import ObjectFacts
from amplint.model.records import changed
from amplint.syntax.access_paths import path_of
from amplint.syntax.class_info import ClassInfo


def as_switched_by(
    info: ClassInfo, objects: Mapping[str, ObjectFacts], named: Mapping[str, ClassInfo]
) -> dict[str, ObjectFacts]:
    """What is known of the objects, where the methods of a base are those of a class with settings of its own.

    Args:
        info: the class.
        objects: what the base knows of them, by reference.
        named: the classes of the file by name, of which some hold settings.
    """
    return {name: _switched(info, name, facts, named) for name, facts in objects.items()}


def _switched(info: ClassInfo, name: str, facts: ObjectFacts, named: Mapping[str, ClassInfo]) -> ObjectFacts:
    if facts.role != "scaler" or not name.startswith("self."):
        return facts
    switches = {_switch(value) for value in info.values(name.removeprefix("self."))}
    switch = switches.pop() if len(switches) == 1 else ""
    holder, _, below = switch.partition(".")
    if below:
        kept = _settings(info, holder, named)
        return changed(facts, enabled=_position(kept, below)) if kept is not None and kept.values(below) else facts
    return changed(facts, enabled=_position(info, switch)) if switch and info.values(switch) else facts


def _settings(info: ClassInfo, attribute: str, named: Mapping[str, ClassInfo]) -> ClassInfo | None:
    """The class of settings that the nearest class keeps in an attribute (`config = DebugConfig`), be it one or an instance."""
    values = next((each.attributes[attribute] for each in info.lineage if attribute in each.attributes), [])
    value = values[0] if len(values) == 1 else None
    made = value.func if isinstance(value, cst.Call) and not value.args else value
    return named.get(path_of(made)) if made is not None else None


def _switch(made: cst.BaseExpression) -> str:
    """The attribute of the instance that a call is given as `enabled`; empty where it is something else."""
    if not isinstance(made, cst.Call):
        return ""
    given = next((arg.value for arg in made.args if arg.keyword is not None and arg.keyword.value == "enabled"), None)
    path = path_of(given) if given is not None else ""
    return path.removeprefix("self.") if path.startswith("self.") else ""


def _position(info: ClassInfo, switch: str) -> str:
    """Whether an attribute is true in a class: the nearest one that sets it tells, if all of them set it to constants."""
    constants = {"True": "yes", "False": "no", "None": "no"}
    told = [
        [constants.get(path_of(value), "maybe") for value in each.attributes.get(switch, ())] for each in info.lineage
    ]
    nearest = next((set(values) for values in told if values), set())
    certain = len(nearest) == 1 and not any("maybe" in values for values in told)
    return nearest.pop() if certain else "maybe"
