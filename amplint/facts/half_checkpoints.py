"""Weights that are cast to half on their way into a checkpoint to resume from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.optimizer_checkpoints import OptimizerStates, SavedState
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.model.torch.precision import CASTS, HALF, named
from amplint.syntax.access_paths import called_name, elements, path_of
from amplint.syntax.nodes import within
from amplint.syntax.value_uses import How
from amplint.syntax.words import words

_MAX_DEFINITIONS = 3
_CONSTANTS = ("None", "True", "False")


@frozen
class HalfSaved:
    """A cast of weights to half, and the state of the optimizer next to which they are saved.

    `kept` are the weights, as they are saved, if an object of another file keeps them so.
    """

    cast: cst.Call
    state: SavedState
    kept: cst.BaseExpression | None = None

    @property
    def place(self) -> cst.CSTNode:
        """Where this file makes the weights half, or saves those that are."""
        assert isinstance(self.cast.func, cst.Attribute)
        return self.kept or self.cast.func.attr


class HalfCheckpoints:
    """The half checkpoints of one file."""

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._roles, self._flow = file.tree, file.names, file.roles, file.flow
        self._classes, self._callees = file.classes, file.callees
        self._states = file.fact(OptimizerStates)

    @cached_property
    def found(self) -> tuple[HalfSaved, ...]:
        """All of them, in source order."""
        found: dict[int, HalfSaved] = {}
        for state in self._states.found:
            if (state.saved or state.returned) and not self._halves_on_purpose(state):
                for cast, value in self._casts(state):
                    kept = value if self._tree.root(cast) is not self._tree.module else None
                    found.setdefault(id(cast), HalfSaved(cast, state, kept))
        return tuple(sorted(found.values(), key=lambda each: self._tree.order(each.place)))

    def _halves_on_purpose(self, state: SavedState) -> bool:
        """Whether the optimizer's state is made half, too: somebody has weighed what a resumed run loses."""
        kept = (
            value
            for key, value in self._elements(state)
            if "optim" in key or any(self._states.is_optimizer(owner) for owner in self._owners(value))
        )
        return any(vocabulary.HALF.search(word) for value in kept for word in words(value))

    def _casts(self, state: SavedState) -> list[tuple[cst.Call, cst.BaseExpression]]:
        """The casts of weights in a checkpoint, each with these; none where it holds weights that are not cast, too."""
        cast: list[tuple[cst.Call, cst.BaseExpression]] = []
        for key, value in self._elements(state):
            inside = [(each, value) for each in (*self._cast_in(value, state.place), *self._kept_half(value))]
            weights = self._is_weights(key, value)
            if weights and not inside:
                return []
            cast.extend(inside if weights else ())
        return cast

    def _elements(self, state: SavedState) -> Iterator[tuple[str, cst.BaseExpression]]:
        """What a checkpoint holds, by the text of the key."""
        holders: list[cst.BaseExpression | None] = [state.place]
        if state.container:
            here = self._tree.order(state.place)
            made = self._flow.assigned(state.container, state.place)
            last = max((self._tree.order(each) for each in made if self._tree.order(each) < here), default=0)
            until = min((self._tree.order(each) for each in made if self._tree.order(each) > here), default=None)
            if isinstance(state.place, cst.Subscript):
                holders += [each.value for each in made if self._tree.order(each) < here]
            for target, value in self._flow.put(state.container, state.place):
                if last < self._tree.order(target) and (until is None or self._tree.order(target) < until):
                    yield self._tree.text(target.slice[0]), value
        for holder in dict.fromkeys(holders):
            for key, element in elements(holder):
                computed = self._tree.text(element.key) if isinstance(element, cst.DictElement) else ""
                yield key or computed, element.value

    def _is_weights(self, key: str, value: cst.BaseExpression) -> bool:
        """Whether an element is weights: by whose state it is, or else by its key, and something other than None or a number."""
        key = key.strip("'\"")
        plain = isinstance(value, (cst.Integer, cst.Float, cst.BaseString))
        if plain or path_of(value) in _CONSTANTS or (isinstance(value, cst.Dict) and not value.elements):
            return False
        owners = self._owners(value)
        if any(map(self._is_extra, owners)):
            return False
        if owners:
            return not any(self._steps(owner) for owner in owners)
        is_other = "optim" in key or "sched" in key or "scaler" in key
        return not is_other and vocabulary.WEIGHTS.search(key) is not None

    def _is_extra(self, owner: cst.BaseExpression) -> bool:
        """Whether an object is one of those that callers may hand over besides: `for name, value in kwargs.items()`."""
        home = self._tree.enclosing(owner, cst.FunctionDef)
        if not isinstance(owner, cst.Name) or not isinstance(home, cst.FunctionDef):
            return False
        bound = [each.node for each in self._names.bindings(owner.value, owner) if each.node is not None]
        loops = [self._tree.enclosing(node, cst.For, cst.FunctionDef) for node in bound]
        extra = home.params.star_kwarg
        return isinstance(extra, cst.Param) and any(
            isinstance(loop, cst.For) and extra.name.value in words(loop.iter) for loop in loops
        )

    def _owners(self, value: cst.BaseExpression) -> list[cst.BaseExpression]:
        """The objects whose states an element holds, also by a name: `head` after `head = net.state_dict()`."""
        values = [value, *(self._flow.values(value) if isinstance(value, cst.Name) else ())]
        nodes = (node for each in values for node in within(each))
        return [node.value for node in nodes if isinstance(node, cst.Attribute) and node.attr.value == "state_dict"]

    def _steps(self, owner: cst.BaseExpression) -> bool:
        """Whether an object is an optimizer, a scheduler or a scaler."""
        role = self._roles.of(owner).role
        return role in ("scheduler", "scaler") or self._states.is_optimizer(owner)

    # -- casts -----------------------------------------------------------------------------------------------------

    def _cast_in(self, value: cst.BaseExpression, place: cst.CSTNode, depth: int = 0) -> Iterator[cst.Call]:
        """The casts that a value has gone through: in its expression, and in those that give its names their values."""
        for node in within(value):
            if isinstance(node, cst.Call) and self._casts_to_half(node) and not self._is_optional(node, place):
                yield node
        for name in self._subjects(value) if depth < _MAX_DEFINITIONS else ():
            last = self._flow.last_value(name)
            if isinstance(last, (cst.Call, cst.DictComp)):
                yield from self._cast_in(last, place, depth + 1)
            yield from self._cast_in_place(name, place)

    def _subjects(self, value: cst.BaseExpression) -> list[cst.Name]:
        """The local names whose object, or whose `state_dict()`, a value is."""
        match value:
            case cst.Name():
                return [value]
            case cst.Call(func=cst.Attribute(value=cst.Name() as name, attr=cst.Name(value="state_dict"))):
                return [name]
        return []

    def _cast_in_place(self, name: cst.Name, place: cst.CSTNode) -> Iterator[cst.Call]:
        """The casts of a module, or of the elements of a dict, that stand before a place as statements of their own."""
        for mention in self._flow.reads(name.value, name):
            for call in self._changing(mention):
                early = self._tree.order(call) < self._tree.order(name)
                if early and self._casts_to_half(call) and not self._is_optional(call, place):
                    yield call

    def _changing(self, mention: cst.BaseExpression) -> Iterator[cst.Call]:
        """The call of a method of an object, as a statement, or that makes a new element of it."""
        use = self._flow.use(mention)
        is_statement = isinstance(self._tree.parent(use.node), cst.Expr)
        if use.how is How.METHOD and isinstance(use.node, cst.Call) and is_statement:
            yield use.node
        yield from (
            value for target, value in self._flow.put(path_of(mention), mention)
            if target.value is mention and isinstance(value, cst.Call)
        )  # fmt: skip

    def _kept_half(self, value: cst.BaseExpression) -> Iterator[cst.Call]:
        """The casts of a copy of a model that an object keeps in half from the beginning, where a value is that copy."""
        match value:
            case cst.Call(func=cst.Attribute(value=cst.Attribute() as copy, attr=cst.Name(value="state_dict"))):
                pass
            case cst.Attribute():
                copy = value
            case _:
                return
        name = copy.attr.value
        info = (
            self._classes.owner(value) if path_of(copy.value) == "self" else self._callees.objects.class_of(copy.value)
        )
        init = info.method("__init__") if info is not None else None
        if info is None or init is None or not any(map(self._copies, info.values(name))):
            return
        for call in self._tree.inside(init, cst.Call):
            if self._casts_to_half(call) and not self._is_optional(call, call, among=self._asks_for_more):
                value_of = self._tree.enclosing(call, cst.Assign, cst.FunctionDef)
                made = [path_of(each.target) for each in value_of.targets] if isinstance(value_of, cst.Assign) else []
                assert isinstance(call.func, cst.Attribute)
                if f"self.{name}" in (path_of(call.func.value), *made):
                    yield call

    @staticmethod
    def _copies(value: cst.BaseExpression) -> bool:
        return any(called_name(node) in ("deepcopy", "copy") for node in within(value))

    @staticmethod
    def _asks_for_more(test: cst.BaseExpression) -> bool:
        """Whether a test asks for something else than the device, on which models are trained in any case."""
        return vocabulary.DEVICE.search(" ".join(words(test))) is None

    def _casts_to_half(self, call: cst.Call) -> bool:
        if not isinstance(call.func, cst.Attribute):
            return False
        method = call.func.attr.value
        if CASTS.get(method) in HALF:
            return not call.args and not self._is_taken_back(call)
        to = method in ("to", "type") and any(self._names.all_in(arg.value, named(*HALF)) for arg in call.args)
        return to and not self._is_taken_back(call)

    def _is_taken_back(self, call: cst.Call) -> bool:
        above = self._tree.parent(call)
        return isinstance(above, cst.Attribute) and above.attr.value == "float"

    def _is_optional(
        self, call: cst.Call, place: cst.CSTNode, among: Callable[[cst.BaseExpression], bool] = lambda test: True
    ) -> bool:
        """Whether an option or a test decides about a cast, and not about the whole checkpoint as well.

        Args:
            call: the cast.
            place: where the checkpoint is put together.
            among: which tests count.
        """
        for above in self._tree.ancestors(call):
            if isinstance(above, cst.FunctionDef):
                return False
            if isinstance(above, (cst.IfExp, cst.If)) and (call is place or above not in self._tree.ancestors(place)):
                if among(above.test):
                    return not self._casts_either_way(above)
        return False

    def _casts_either_way(self, choice: cst.IfExp | cst.If) -> bool:
        """Whether both sides of a choice cast, as for a module that may be wrapped."""
        sides = (choice.body, choice.orelse)
        return all(
            side is not None and any(isinstance(node, cst.Call) and self._casts_to_half(node) for node in within(side))
            for side in sides
        )
