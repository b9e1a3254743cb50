"""Where the state of an optimizer goes: into a dict, under a key, into a file of its own; and whether that is saved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.syntax.access_paths import path_of

_SAVES = re.compile(r"save|dump|checkpoint|ckpt|snapshot|serialize", re.IGNORECASE)
_LOADS = re.compile(r"load|restore|resume|exists|remove|latest|find|log$|print|info", re.IGNORECASE)
_HARMLESS = re.compile(r"^(print|len|list|dict|str|info|debug|isinstance|deepcopy|copy|keys|items)$|log", re.IGNORECASE)
_FUNCTIONS = (cst.FunctionDef, cst.Lambda)


@dataclass(frozen=True)
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
        self._tree, self._names, self._roles = file.tree, file.names, file.roles

    @cached_property
    def found(self) -> list[SavedState]:
        """All that are put into something, in source order."""
        return [state for call in self._tree.find(cst.Call) for state in self._of(call)]

    def _of(self, call: cst.Call) -> Iterator[SavedState]:
        func = call.func
        if not isinstance(func, cst.Attribute) or func.attr.value != "state_dict":
            return
        if self._roles.of(func.value).role == "optimizer":
            for value in self._named(call):
                state = self._placed(func.value, value)
                if state is not None:
                    yield state

    def _named(self, value: cst.BaseExpression) -> list[cst.BaseExpression]:
        """A value, or else the places that read the name which it is given."""
        assign = self._tree.parent(value)
        target = assign.targets[0].target if isinstance(assign, cst.Assign) and len(assign.targets) == 1 else None
        if not isinstance(target, cst.Name):
            return [value]
        home = self._tree.enclosing(value, *_FUNCTIONS)
        return [
            name
            for name in self._tree.find(cst.Name)
            if name.value == target.value
            and name is not target
            and self._tree.enclosing(name, *_FUNCTIONS) is home
            and isinstance(self._tree.parent(name), (cst.DictElement, cst.Arg, cst.Assign))
        ]

    def _placed(self, optimizer: cst.BaseExpression, value: cst.BaseExpression) -> SavedState | None:
        """What a state is put into, seen from its expression outwards."""
        below: cst.CSTNode = value
        for above in self._tree.ancestors(value):
            if isinstance(above, cst.DictElement):
                holder = self._tree.parent(above)
                key = above.key.value.strip("'\"") if isinstance(above.key, cst.SimpleString) else ""
                return (
                    self._held(optimizer, holder, above, key)
                    if isinstance(holder, cst.Dict) and below is above.value
                    else None
                )
            if isinstance(above, cst.Call) and isinstance(below, cst.Arg):
                if below.keyword is not None and self._names.all_in(above.func, {"builtins.dict"}):
                    return self._held(optimizer, above, below, below.keyword.value)
                if says_save(above):
                    return SavedState(
                        optimizer, above, None, "", "<file>", True, False, any(a.star for a in above.args)
                    )
            if isinstance(above, cst.Assign):
                return self._assigned(optimizer, above)
            if isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement, cst.DictComp, cst.Lambda)):
                return None
            below = above
        return None

    def _assigned(self, optimizer: cst.BaseExpression, assign: cst.Assign) -> SavedState | None:
        """A state that is put under a key of something."""
        target = assign.targets[0].target
        if not isinstance(target, cst.Subscript) or len(assign.targets) != 1:
            return None
        index = target.slice[0].slice
        if not isinstance(index, cst.Index) or not isinstance(index.value, cst.SimpleString):
            return None
        path = path_of(target.value)
        if not path or isinstance(target.value, cst.Subscript):
            return None
        saved, returned, is_open = self._fate(path, target)
        return SavedState(optimizer, target, None, index.value.value.strip("'\""), path, saved, returned, is_open)

    def _held(
        self, optimizer: cst.BaseExpression, holder: cst.BaseExpression, entry: cst.DictElement | cst.Arg, key: str
    ) -> SavedState | None:
        """A state that is an element of a dict."""
        is_open = _is_open(holder)
        below: cst.CSTNode = holder
        for above in self._tree.ancestors(holder):
            if isinstance(above, cst.Dict):
                is_open = is_open or _is_open(above)
            elif isinstance(above, cst.Call) and isinstance(below, cst.Arg) and says_save(above):
                return SavedState(optimizer, holder, entry, key, "", True, False, is_open)
            elif isinstance(above, cst.Return):
                return SavedState(optimizer, holder, entry, key, "", False, True, is_open)
            elif isinstance(above, (cst.Assign, cst.AnnAssign)):
                target = above.target if isinstance(above, cst.AnnAssign) else above.targets[0].target
                path = path_of(target)
                if not path:
                    return None
                saved, returned, escapes = self._fate(path, holder)
                return SavedState(optimizer, holder, entry, key, path, saved, returned, is_open or escapes)
            elif isinstance(above, (cst.BaseSmallStatement, cst.BaseCompoundStatement)):
                return None
            below = above
        return None

    def _fate(self, path: str, place: cst.CSTNode) -> tuple[bool, bool, bool]:
        """Whether the function around a place saves what a path names, returns it, and gives it to something unknown."""
        saved = returned = is_open = False
        home, begin = self._tree.enclosing(place, *_FUNCTIONS), self._begin(path, place)
        for call in self._tree.find(cst.Call):
            if self._tree.order(call) < begin or self._tree.enclosing(call, *_FUNCTIONS) is not home:
                continue
            given = any(path_of(arg.value) == path for arg in call.args)
            if isinstance(call.func, cst.Attribute) and path_of(call.func.value) == path:
                is_open = is_open or (call.func.attr.value == "update" and not _is_plain_update(call))
            if given and says_save(call):
                saved = True
            elif given and not _HARMLESS.search(path_of(call.func).rpartition(".")[2]):
                is_open = True
        for line in self._tree.find(cst.Return):
            if line.value is not None and self._tree.enclosing(line, *_FUNCTIONS) is home:
                returned = returned or any(path_of(node) == path for node in _values(line.value))
        for key in self._tree.find(cst.Subscript):
            if self._tree.enclosing(key, *_FUNCTIONS) is home and path_of(key.value) == path:
                is_open = is_open or (
                    isinstance(self._tree.parent(key), cst.AssignTarget) and "'" not in (text := self._tree.text(key))
                    and '"' not in text
                )  # fmt: skip
        return saved, returned, is_open

    def _begin(self, path: str, place: cst.CSTNode) -> int:
        """From where on a variable holds the checkpoint that has something put into it at a place."""
        at, home = self._tree.order(place), self._tree.enclosing(place, *_FUNCTIONS)
        assigned = (each for each in self._tree.find(cst.Assign) if path_of(each.targets[0].target) == path)
        before = (self._tree.order(each) for each in assigned if self._tree.enclosing(each, *_FUNCTIONS) is home)
        return max((each for each in before if each < at), default=0)


def says_save(call: cst.Call) -> bool:
    """Whether what is called saves something, by its name."""
    name = path_of(call.func).rpartition(".")[2] or (
        call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    )
    return _SAVES.search(name) is not None and _LOADS.search(name) is None


def _is_open(holder: cst.BaseExpression) -> bool:
    """Whether a dict takes over the elements of something else."""
    if isinstance(holder, cst.Dict):
        return any(isinstance(each, cst.StarredDictElement) for each in holder.elements)
    return isinstance(holder, cst.Call) and any(arg.star or arg.keyword is None for arg in holder.args)


def _is_plain_update(call: cst.Call) -> bool:
    """Whether the keys that `update` adds can all be seen."""
    return all((arg.keyword is not None or isinstance(arg.value, cst.Dict)) and not arg.star for arg in call.args)


def _values(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [each.value for each in node.elements] if isinstance(node, cst.Tuple) else [node]
