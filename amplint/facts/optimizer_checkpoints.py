"""Where the state of an optimizer goes: into a dict, under a key, into a file of its own; and whether that is saved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.filled_collections import added_to, appended_to, is_plain_update, outer_element
from amplint.facts.saving_calls import REGISTERING, says_save
from amplint.facts.state_helpers import StatesByHelpers
from amplint.facts.state_names import StateNames
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.records import frozen
from amplint.syntax.access_paths import called, called_name, elements, literal_key, path_of
from amplint.syntax.bindings import targets
from amplint.syntax.loop_elements import paired
from amplint.syntax.value_uses import How, Use

_MEASURES = frozenset({"len", "str", "repr", "bool", "type", "id"})
"""Functions that tell something of a state, and do not keep it."""
_PRIVATE = re.compile("_[^_]")
"""How the names of functions begin that nothing outside of their file calls."""


@frozen
class SavedState:
    """The state of an optimizer on its way to a checkpoint.

    `place` is the dict (display or call), the key that is assigned, or the call that saves it alone; `entry` its element in a
    dict. `container` is the path of the variable that holds the checkpoint. `returned` says that the function returns it,
    `open` that something unknown may add to it.
    """

    optimizer: cst.BaseExpression
    place: cst.BaseExpression
    entry: cst.DictElement | cst.Arg | None
    key: str
    container: str
    saved: bool
    returned: bool
    open: bool


class OptimizerStates:
    """The states that one file takes of optimizers."""

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._roles, self._flow = file.tree, file.names, file.roles, file.flow
        self._callees = file.callees
        self._helped, self._names_of = file.fact(StatesByHelpers), StateNames(file)

    @cached_property
    def found(self) -> list[SavedState]:
        """All that are put into something, in source order."""
        calls = (*self._flow.methods("state_dict"), *self._helped.taken)
        taken = [state for call, owner in calls for state in self._of(call, owner)]
        return sorted([*taken, *self._registered()], key=lambda state: self._tree.order(state.place))

    def _registered(self) -> Iterator[SavedState]:
        """The optimizers that are registered with something that saves the states of all that are."""
        for call, owner in (pair for name in REGISTERING for pair in self._flow.methods(name)):
            for optimizer in (arg.value for arg in call.args if self.is_optimizer(arg.value)):
                yield SavedState(optimizer, call, None, "", path_of(owner), True, False, False)

    def _of(self, call: cst.Call, owner: cst.BaseExpression) -> Iterator[SavedState]:
        if self.is_optimizer(owner):
            for value in self._names_of.read(call):
                state = self._placed(owner, value)
                if state is not None:
                    yield state

    def is_optimizer(self, node: cst.BaseExpression) -> bool:
        """Whether an expression names an optimizer, one of several, or one that a library hands on (`amp.initialize`)."""
        role = self._roles.of(node).role
        if role == "framework":
            return vocabulary.OPTIMIZER.search(called(path_of(node))) is not None
        several = self._roles.collections(node) if not role else []
        return role == "optimizer" or {self._roles.of(each).role for each in several} == {"optimizer"}

    def _placed(
        self, optimizer: cst.BaseExpression, value: cst.BaseExpression, is_inner: bool = False
    ) -> SavedState | None:
        """What a state is put into, seen from its expression outwards."""
        for use in self._flow.uses(value):
            match use.node:
                case cst.Subscript() as part if literal_key(part) != "state":
                    return None  # such as the learning rate
                case cst.Call() as call if called_name(call) in _MEASURES:
                    return None
                case cst.DictElement() as entry:
                    holder = self._tree.parent(entry)
                    return self._held(optimizer, holder, entry) if isinstance(holder, cst.Dict) else None
                case cst.Call() as call if use.how is How.ARGUMENT:
                    if use.arg is not None and use.arg.keyword and self._names.all_in(call.func, {"builtins.dict"}):
                        return self._held(optimizer, call, use.arg)
                    if use.arg is not None and use.arg.keyword and (path := added_to(use)):
                        key = use.arg.keyword.value
                        return SavedState(optimizer, call, use.arg, key, path, *self._fate(path, call))
                    if isinstance(collection := appended_to(use), cst.Subscript):
                        return self._put(optimizer, outer_element(collection), is_inner)
                    if says_save(call):
                        is_open = any(arg.star for arg in call.args)
                        return SavedState(optimizer, call, None, "", "<file>", True, False, is_open)
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript() as target)]):
                    return self._put(optimizer, outer_element(target), is_inner)
        return None

    def _put(self, optimizer: cst.BaseExpression, target: cst.Subscript, is_inner: bool) -> SavedState | None:
        """A state, or a dict with one (`is_inner`), that is put under a key of something, or under a key of what stands there."""
        path = path_of(target.value)
        if not self._names_of.is_spelled(target) or not path or isinstance(target.value, cst.Subscript):
            return None
        saved, returned, is_open = self._fate(path, target)
        outer = None if saved or returned or is_inner else self._put_further(optimizer, path, target)
        return outer or SavedState(optimizer, target, None, literal_key(target), path, saved, returned, is_open)

    def _put_further(self, optimizer: cst.BaseExpression, path: str, place: cst.CSTNode) -> SavedState | None:
        """A state in a dict that becomes an element of another one: `checkpoint["optimizers"] = states`."""
        for mention in self._flow.reads(path, place):
            match self._flow.use(mention).node:
                case cst.DictElement():
                    return self._placed(optimizer, mention, is_inner=True)
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript(value=whole))]) if (
                    path_of(whole) != path
                ):
                    return self._placed(optimizer, mention, is_inner=True)
        return None

    def _held(
        self, optimizer: cst.BaseExpression, holder: cst.BaseExpression, entry: cst.DictElement | cst.Arg
    ) -> SavedState | None:
        """A state that is an element of a dict."""
        key = next(key for key, each in elements(holder) if each is entry)
        is_open = self._is_open(holder)
        for use in self._flow.uses(holder):
            if isinstance(use.node, cst.Dict):
                is_open = is_open or self._is_open(use.node)
            elif use.how is How.ARGUMENT and says_save(use.node):
                told = _is_told(use, holder)
                return None if told else SavedState(optimizer, holder, entry, key, "", True, False, is_open)
            elif path := added_to(use):
                saved, returned, escapes = self._fate(path, holder)
                return SavedState(optimizer, holder, entry, key, path, saved, returned, is_open or escapes)
            elif use.how is How.RETURNED:
                return SavedState(optimizer, holder, entry, key, "", False, True, is_open)
            elif isinstance(use.node, (cst.Assign, cst.AnnAssign)):
                path = path_of(targets(use.node)[0])
                saved, returned, escapes = self._fate(path, holder)
                return (
                    SavedState(optimizer, holder, entry, key, path, saved, returned, is_open or escapes)
                    if path
                    else None
                )
        return None

    def _fate(self, path: str, place: cst.CSTNode) -> tuple[bool, bool, bool]:
        """Whether the function around a place saves what a path names, returns it, and gives it to something unknown."""
        saved = returned = is_open = False
        assigned = [self._tree.order(each) for each in self._flow.assigned(path, place)]
        begin = max((each for each in assigned if each < self._tree.order(place)), default=0)
        for mention in self._flow.reads(path, place):
            use = self._names_of.use(mention)
            late = self._tree.order(use.node) >= begin
            match use.how, use.node:
                case How.ARGUMENT, cst.Call() as call if late:
                    saved = saved or says_save(call)
                    is_open = is_open or not (says_save(call) or vocabulary.LOOKS.search(use.name))
                case How.METHOD, cst.Call() as call if late:
                    is_open = is_open or (use.name == "update" and not self._is_plain(call))
                case How.RETURNED, _:
                    returned = True
                case How.PART, cst.Element() as element:
                    held = self._tree.parent(element)
                    further = self._flow.use(held) if isinstance(held, cst.Tuple) else use
                    returned = returned or further.how is How.RETURNED
                    saved = saved or (further.how is How.ARGUMENT and says_save(further.node) and late)
        closed = all(
            self._names_of.is_spelled(target) and not self._is_of_any(value)
            for target, value in self._flow.put(path, place)
        )
        return saved, returned, is_open or not closed

    def _is_plain(self, update: cst.Call) -> bool:
        """Whether the keys that `update` adds can all be seen, also in what the base of the class gives back:
        `state.update(super().state_dict())`."""
        given = update.args[0].value if len(update.args) == 1 else update
        asks_base = isinstance(given, cst.Call) and self._tree.text(given).startswith("super().")
        base = self._callees.of(given, wherever=True) if isinstance(given, cst.Call) and asks_base else None
        if base is None:
            return is_plain_update(update)
        results = list(self._flow.returned(base.node))
        keys = " ".join(key for each in results for key, _ in elements(each))
        spelled = bool(results) and all(isinstance(each, cst.Dict) and not self._is_open(each) for each in results)
        return spelled and vocabulary.SCALER_STATE.search(keys) is None

    def _is_open(self, holder: cst.BaseExpression) -> bool:
        """Whether a dict takes over the elements of something else, other than what all calls of a private function spell out."""
        if isinstance(holder, cst.Dict):
            taken = (each.value for each in holder.elements if isinstance(each, cst.StarredDictElement))
            return not all(map(self._is_spelled_by_callers, taken))
        return isinstance(holder, cst.Call) and any(arg.star or arg.keyword is None for arg in holder.args)

    def _is_spelled_by_callers(self, taken: cst.BaseExpression) -> bool:
        """Whether something is the `**` of a private function to which all calls spell out what they give, no scaler's state."""
        home = self._tree.enclosing(taken, cst.FunctionDef)
        if not isinstance(home, cst.FunctionDef) or _PRIVATE.match(home.name.value) is None:
            return False
        rest = home.params.star_kwarg
        given = [arg for call in self._flow.calls(home.name.value) for arg in call.args]
        keys = " ".join(arg.keyword.value for arg in given if arg.keyword is not None)
        is_rest = rest is not None and path_of(taken) == rest.name.value
        closed = bool(given) and not any(arg.star for arg in given)
        return is_rest and closed and vocabulary.SCALER_STATE.search(keys) is None

    def _is_of_any(self, value: cst.BaseExpression) -> bool:
        """Whether a value is the state of one of several objects that a function is given: of whichever those are."""
        owner = value.func.value if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) else None
        bound = self._names.bindings(owner.value, owner) if isinstance(owner, cst.Name) else []
        loop = self._tree.enclosing(bound[0].node, cst.For) if len(bound) == 1 and bound[0].node is not None else None
        if not isinstance(loop, cst.For):
            return False
        sources = [source for name, source in paired(loop.target, loop.iter) if name is bound[0].node]
        given = (self._names.bindings(each.value, each) for each in sources if isinstance(each, cst.Name))
        return any(isinstance(each.node, cst.Param) for found in given for each in found)


def _is_told(use: Use, holder: cst.BaseExpression) -> bool:
    """Whether a dict only tells about what is saved: by the name of the parameter, or as it goes to a log without any weights."""
    if use.arg is not None and use.arg.keyword is not None and vocabulary.METADATA.search(use.arg.keyword.value):
        return True
    func = use.node.func if isinstance(use.node, cst.Call) else None
    receiver = path_of(func.value) if isinstance(func, cst.Attribute) else ""
    holds_weights = any(vocabulary.WEIGHTS.search(key) for key, _ in elements(holder))
    return not holds_weights and vocabulary.REPORTERS.search(called(receiver)) is not None
