"""Which expression is a scaler, an optimizer, a scheduler: by constructor first, then by use, and only then by name."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.model import vocabulary
from amplint.model.events import ObjectFacts
from amplint.model.libraries import RETURNS_WHAT_IT_GETS, has_own_protocol
from amplint.model.records import changed
from amplint.roles.assigned_objects import AssignedObjects
from amplint.roles.autocast_contexts import Contexts
from amplint.roles.constructors import Constructors
from amplint.roles.parameter_owners import ParameterOwners
from amplint.roles.role_uses import RoleUses
from amplint.roles.schedules import is_of_something_else
from amplint.roles.user_options import UserOptions
from amplint.syntax.access_paths import (
    called,
    computed_attribute,
    displayed,
    path_of,
)
from amplint.syntax.classes import Classes
from amplint.syntax.loop_elements import paired
from amplint.syntax.names import LOCAL, UNKNOWN, Names
from amplint.syntax.nodes import is_sequence
from amplint.syntax.tree import Tree
from amplint.syntax.value_flow import ValueFlow
from amplint.syntax.words import words

_NAMED = (cst.Name, cst.Attribute, cst.Subscript)
_MAX_ALIASES = 30
"""Names that an object goes by in a row; of one more nothing is known."""


class Roles:
    """What the objects of one file are.

    Args:
        tree: the file.
        names: what its names mean.
        classes: its classes, whose attributes hold objects.
        contexts: its autocast regions, for what is called like a context.
        flow: where values come from.

    Attributes:
        constants: the tests that always come out alike.
    """

    def __init__(self, tree: Tree, names: Names, classes: Classes, contexts: Contexts, flow: ValueFlow) -> None:
        self._tree = tree
        self._names = names
        self._classes = classes
        self.flow = flow
        self._options = UserOptions(tree)
        self._owners = ParameterOwners(tree, flow, classes)
        self._constructors = Constructors(tree, names, classes, contexts, self._owners.of)
        self._cache: dict[tuple[int, str], ObjectFacts] = {}
        self._aliases = 0
        self._uses = RoleUses(tree)
        self.constants = names.constants
        self._assigned = AssignedObjects(classes, flow)

    def of(self, node: cst.BaseExpression) -> ObjectFacts:
        """What is known of the object that an expression names or makes."""
        path = path_of(node)
        if not path:
            return self.made_by(node) or ObjectFacts()
        key = id(self._names.scope(node)), path
        if key not in self._cache:
            self._cache[key] = ObjectFacts()  # stands while it is worked out: an alias may lead back here
            if self._aliases < _MAX_ALIASES:
                self._aliases += 1
                self._cache[key] = self._work_out(node, path)
                self._aliases -= 1
        return self._cache[key]

    def _work_out(self, node: cst.BaseExpression, path: str) -> ObjectFacts:
        if self._uses.is_of_another_framework(node):
            return ObjectFacts("framework")
        values = [value for value in self.values(node) if not self._is_handed_back(value)]
        given = self._as_given(node) if not values and path not in self._uses.roles(node) else None
        if given is not None:
            return given
        made = [facts for value in values if (facts := self.made_by(value)) is not None]
        steps_bare = f"{path}.step" in self._uses.bare_calls(node)
        if not made and (steps_bare or vocabulary.SCALER.search(called(path))):
            made = [facts for value in values if (facts := self.returned_by(value)) is not None]
        if not made and steps_bare:
            element = self._element(node) if not values else None
            if element is not None:
                return element
        if any(facts.role == "framework" for facts in made):
            return ObjectFacts("framework")
        known = [facts for facts in made if facts.role]
        if known and len({facts.role for facts in known}) == 1:
            first = known[0]
            named = first.role == "optimizer" and not first.maker and path not in self._uses.roles(node)
            if named and self._options.is_chosen(node, path):
                return ObjectFacts()
            made_always = len(known) == len(values) and all(facts.made for facts in known)
            maker = first.maker if len({facts.maker for facts in known}) == 1 else ""
            return changed(first, enabled=_join(known), owners=_all_owners(known), made=made_always, maker=maker)
        if known or (made and any(facts.role == "" for facts in made)):
            return ObjectFacts()
        if path not in self._uses.roles(node) and any(self._is_foreign(value) or _is_plain(value) for value in values):
            return ObjectFacts()
        if not values and path not in self._uses.roles(node) and self._is_one_of_others(node):
            return ObjectFacts()
        role = self._by_use_or_name(node, path)
        return ObjectFacts(role, enabled=self._given_enabled(node)) if role == "scaler" else ObjectFacts(role)

    def _given_enabled(self, node: cst.BaseExpression) -> str:
        """Whether the scaler that a parameter stands for is enabled, as far as the calls in sight tell: all others make it so."""
        found = [self.made_by(value) for value in self.flow.given(node)]
        known = [facts for facts in found if facts is not None and facts.role == "scaler"]
        return _join(known) if known and len(known) == len(found) else ObjectFacts("scaler").enabled

    def _element(self, node: cst.BaseExpression) -> ObjectFacts | None:
        """What is known of what loops take out of collections of optimizers or schedulers, of whichever element it is."""
        roles = {self.of(source).role for source in self.collections(node)}
        return ObjectFacts(roles.pop()) if roles in ({"optimizer"}, {"scheduler"}) else None

    def _is_one_of_others(self, node: cst.BaseExpression) -> bool:
        """Whether a name is what loops take out of collections of objects that have none of the roles, as their classes show."""
        sources = self.collections(node)
        if sources and all(vocabulary.NOT_RATE.search(called(path_of(each))) for each in sources):
            return True
        shown = [each for source in sources for each in self.flow.meant(source)]
        made = [each for held in shown for each in displayed(held)]
        return bool(made) and all(self._is_foreign(each) or self._is_without_role(each) for each in made)

    def _is_without_role(self, value: cst.BaseExpression) -> bool:
        """Whether a call makes an object of a class that has none of the roles, whatever it is called."""
        facts = self.made_by(value) if type(value) is cst.Call else None
        abroad = (
            vocabulary.RATE_CLASS.search(called(path_of(value.func))) is not None if type(value) is cst.Call else False
        )
        info = self._classes.instance_of(value, abroad) if type(value) is cst.Call and facts is None else None
        return not facts.role if facts is not None else info is not None and is_of_something_else(info, self._tree)

    def collections(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What loops and comprehensions go through that give a name its values; none if it may get another one elsewhere."""
        bound = self._names.bindings(node.value, node) if type(node) is cst.Name else []
        loops = [self._tree.enclosing(each.node, cst.For, cst.CompFor) for each in bound if each.node is not None]
        over = [loop for loop in loops if isinstance(loop, (cst.For, cst.CompFor))]
        pairs = [pair for loop in over for pair in paired(loop.target, loop.iter)]
        taken = {each.node: source for each in bound for name, source in pairs if name is each.node}
        return list(taken.values()) if len(taken) == len(bound) else []

    def _is_handed_back(self, value: cst.BaseExpression) -> bool:
        """Whether a call returns the objects that it was given (`model, optimizer = amp.initialize(model, optimizer)`)."""
        return type(value) is cst.Call and self._names.any_in(value.func, RETURNS_WHAT_IT_GETS)

    def _as_given(self, node: cst.BaseExpression) -> ObjectFacts | None:
        """What is known of a parameter from the calls in sight; there may be others, so that it may also be another object."""
        given = list(self.flow.given(node))
        if given and (all(map(self._is_something_else, given)) or all(map(self._is_none, given))):
            return ObjectFacts()
        facts = [found for value in given if (found := self.made_by(value)) is not None]
        roles = {each.role for each in facts}
        if "follower" in roles:
            return ObjectFacts("follower")
        if len(roles) != 1 or not facts[0].role:
            return None
        return changed(facts[0], enabled=_join(facts), owners=(), made=False, maker="")

    def _is_none(self, given: cst.BaseExpression) -> bool:
        """Whether what a call gives is None, or a name that stands for nothing else."""
        makers = list(self.values(given)) if type(given) is cst.Name and given.value != "None" else [given]
        return bool(makers) and all(path_of(each) == "None" for each in makers)

    def _is_something_else(self, given: cst.BaseExpression) -> bool:
        """Whether what a call gives is an object of none of the roles, whatever it is called: its caller makes it."""
        makers = list(self.values(given)) if type(given) is cst.Name else []
        return bool(makers) and all(type(each) is cst.Call for each in makers) and not self.of(given).role

    def _is_foreign(self, value: cst.BaseExpression) -> bool:
        """Whether a value is an instance of a class that is neither optimizer nor scheduler by its name, nor gets parameters."""
        name = path_of(value.func).rpartition(".")[2] if type(value) is cst.Call else ""
        known = vocabulary.OPTIMIZER_MAKER.search(name) or vocabulary.SCHEDULE_CLASS.search(name)
        return name[:1].isupper() and known is None and not any("param" in word for word in words(value))

    def values(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """What may be assigned to what an expression names, element by element: see `AssignedObjects`."""
        return self._assigned.values(node)

    # -- by constructor --------------------------------------------------------------------------------------------

    def made_by(self, value: cst.BaseExpression) -> ObjectFacts | None:
        """What an expression makes; None when that cannot be told, no role when it is something else."""
        # By far the most expressions are calls and names; `isinstance` is slow to deny, for nodes are abstract classes.
        if type(value) is cst.Call:
            return self._constructors.of(value) or self._computed(value)
        if type(value) in _NAMED:
            named = self.of(value) if path_of(value) not in ("", "None") else ObjectFacts()
            return named if named.role else None
        if type(value) is cst.IfExp:
            taken = self.constants.sides(value)
            sides = [facts for side in taken if (facts := self.made_by(side)) is not None]
            maker = sides[0].maker if len({facts.maker for facts in sides}) == 1 else ""
            enabled = _join(sides) if len(sides) == len(taken) else "maybe"
            return changed(sides[0], enabled=enabled, made=len(sides) == len(taken), maker=maker) if sides else None
        if type(value) is cst.BooleanOperation:
            return self.made_by(value.left) or self.made_by(value.right)
        if is_sequence(value) or type(value) in (cst.Dict, cst.DictComp, cst.ListComp):
            known = [facts for each in displayed(value) if (facts := self.made_by(each))]
            alike = len({facts.owners for facts in known}) == 1
            return changed(known[0], owners=known[0].owners if alike else ()) if known else None
        return None

    def _computed(self, call: cst.Call) -> ObjectFacts | None:
        """What is known of the attributes of `self` by computed names, if `getattr` asks for one; some other one is asked for."""
        computed, owner = computed_attribute(call), self._classes.owner(call)
        if computed is None or owner is None or path_of(computed[0]) != "self":
            return None
        made = [facts for value in owner.values(computed[1]) if (facts := self.made_by(value)) is not None]
        return changed(made[0], owners=()) if made and len({each.role for each in made}) == 1 else None

    def returned_by(self, value: cst.BaseExpression) -> ObjectFacts | None:
        """What a function at hand returns to a call of it, if that is always a scaler, a scheduler, or an object that follows
        one.

        Args:
            value: the call, or a choice between that and None.
        """
        if type(value) is cst.IfExp:
            sides = [each for each in self.constants.sides(value) if path_of(each) != "None"]
            one = self.returned_by(sides[0]) if len(sides) == 1 else None
            return changed(one, enabled="maybe", made=False) if one is not None else None
        returned = list(self.flow.sources(value)) if type(value) is cst.Call else []
        found = [self.made_by(each) or ObjectFacts() for each in returned]
        roles = {facts.role for facts in found}
        if roles == {"scaler"}:
            return changed(found[0], enabled=_join(found), made=all(facts.made for facts in found), maker="")
        return ObjectFacts(roles.pop()) if roles in ({"scheduler"}, {"follower"}) else None

    def owners(self, *expressions: cst.BaseExpression) -> tuple[str, ...]:
        """The paths from which the parameters in expressions come: `model` of `model.parameters()`."""
        return self._owners.of(*expressions)

    # -- by use and by name ----------------------------------------------------------------------------------------

    def _by_use_or_name(self, node: cst.BaseExpression, path: str) -> str:
        meanings = self._names.resolve(node)
        if any(name != UNKNOWN and not name.startswith((LOCAL, "builtins.")) for name in meanings):
            return "framework" if vocabulary.FRAMEWORK.match(path) or all(map(has_own_protocol, meanings)) else ""
        used_as = self._uses.roles(node)
        if path in used_as:
            return used_as[path]
        last = called(path)
        if vocabulary.FRAMEWORK.match(last):
            named = list(self.values(node)) or [node]
            return "" if all(self._options.is_section(each, path_of(each)) for each in named) else "framework"
        if vocabulary.SCALER.search(last):
            opaque = any(not (isinstance(value, cst.Name) and value.value == "None") for value in self.values(node))
            return "framework" if opaque else "scaler"
        role = self._by_name(node, path, last)
        if role or not path.endswith("]") or not self._options.is_stepped(node, path):
            return role
        return self._by_name(node, path, called(path.rpartition("[")[0]))  # a key such as "generator" says nothing

    def _by_name(self, node: cst.BaseExpression, path: str, last: str) -> str:
        if vocabulary.SCHEDULER.search(last):
            return "" if vocabulary.NOT_RATE.search(last) else "scheduler"
        if vocabulary.OPTIMIZER.search(last) and not self._options.holds(node, path):
            return "optimizer"
        return ""


def _is_plain(value: cst.BaseExpression) -> bool:
    """Whether a value is a truth or a number, which is no object whatever it is called."""
    if type(value) is cst.Name:
        return value.value in ("True", "False")
    return isinstance(value, (cst.Comparison, cst.UnaryOperation, cst.Integer, cst.Float))


def _join(facts: list[ObjectFacts]) -> str:
    return facts[0].enabled if len({each.enabled for each in facts}) == 1 else "maybe"


def _all_owners(facts: list[ObjectFacts]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(owner for each in facts for owner in each.owners))
