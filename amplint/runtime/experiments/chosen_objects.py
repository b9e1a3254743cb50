"""Regions and scalers that conditions choose, such as a version check: what is entered under which condition, before and after.

Where a patch only moves the choice, from names of classes to the objects that they make, the same is chosen under the same
conditions, and the statements that choose it are explained.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import libcst as cst

from amplint.model.torch import names as torch_names
from amplint.rule import File
from amplint.runtime.changes import Change, changes, changes_in, function_at
from amplint.runtime.experiments.amp_objects import AmpObject, construction, is_bare

_CLASSES = torch_names.AUTOCAST | torch_names.GRAD_SCALER
_Guards = frozenset[tuple[str, bool]]
"""Conditions, as they are written, each with its truth."""
_NOWHERE: _Guards = frozenset()


@dataclass(frozen=True)
class Chosen:
    """One of the objects that an expression may be: its settings, the full name of its class, and the call that makes it."""

    made: AmpObject
    name: str
    call: cst.Call = field(compare=False)


Choice = Mapping[_Guards, Chosen]


@dataclass(frozen=True)
class EnteredChoice:
    """A `with` statement that enters a region: the choice of it, by the conditions that the statement itself is not under."""

    statement: cst.With
    item: cst.BaseExpression
    guards: _Guards
    choice: Choice


def entered_again(before: File, after: File, row: int) -> list[tuple[EnteredChoice, EnteredChoice]]:
    """The `with` statements of a function that enter regions, each with its counterpart; none where their number differs.

    Args:
        before: the file as it stands.
        after: the file with a patch.
        row: a row of the function in the file as it stands.
    """
    home = function_at(before.source.text, row)
    mine, theirs = (list(_entered_in(file, home)) for file in (before, after))
    return list(zip(mine, theirs)) if len(mine) == len(theirs) else []


def unexplained(before: File, after: File, row: int) -> tuple[str, ...]:
    """The changed statements of a function that do more than choose its regions and scalers in another place.

    Args:
        before: the file as it stands.
        after: the file with a patch.
        row: a row of the function in the file as it stands.
    """
    texts = before.source.text, after.source.text
    home = function_at(before.source.text, row)
    pairs = [pair for pair in entered_again(before, after, row) if pair[0].choice == pair[1].choice]
    sides = [_Side(file, home, {pair[at].statement for pair in pairs}) for at, file in enumerate((before, after))]
    scalers = {
        name for name in sides[0].assigned & sides[1].assigned if _is_alike(*(side.held(name) for side in sides))
    }
    tests = {test for one, _ in pairs for key in one.choice for test, _ in key}

    def is_explained(change: Change) -> bool:
        parts = zip(sides, (change.before, change.after))
        return all(side.only_chooses(part, scalers, tests) for side, part in parts if part is not None)

    found = changes_in(changes(*texts), *texts, {home})
    return tuple(dict.fromkeys(each.text for each in found if not is_explained(each)))


def guards_of(file: File, node: cst.CSTNode) -> _Guards:
    """The conditions that a node is under.

    Args:
        file: the file.
        node: a part of it.
    """
    found, below = set(), node
    for above in file.tree.ancestors(node):
        if isinstance(above, cst.If) and below is not above.test:
            found.add((file.tree.text(above.test), below is above.body))
        below = above
    return frozenset(found)


def chosen(file: File, node: cst.BaseExpression, around: _Guards = _NOWHERE) -> Choice:
    """The objects that an expression may be, each under its conditions; nothing where one of them is not known.

    Args:
        file: the file.
        node: what is entered, or the call that makes it.
        around: conditions that do not count.
    """
    found: dict[_Guards, Chosen] = {}
    for one in _options(file, node):
        if one is None or one[0] - around in found:
            return {}
        found[one[0] - around] = one[1]
    return found


def _entered_in(file: File, home: str) -> Iterator[EnteredChoice]:
    for statement in file.tree.find(cst.With):
        if function_at(file.source.text, file.range(statement).start.row) != home:
            continue
        guards = guards_of(file, statement)
        for item in statement.items:
            choice = chosen(file, item.item, guards)
            if choice:
                yield EnteredChoice(statement, item.item, guards, choice)


def _options(file: File, node: cst.BaseExpression) -> Iterator[tuple[_Guards, Chosen] | None]:
    """The objects that an expression may be; None for one that is not known."""
    if isinstance(node, cst.Call):
        for guards, name in _classes(file, node.func):
            made = construction(file, name, node.args)
            is_written = not any(arg.star for arg in node.args)
            yield (guards | guards_of(file, node), Chosen(made, name, node)) if is_written else None
    elif isinstance(node, cst.Name):
        for place, binding in enumerate(file.names.bindings(node.value, node)):
            is_blank = isinstance(binding.value, cst.Name) and binding.value.value == "None"
            if binding.value is None or (is_blank and place):
                yield None
            elif not is_blank:
                yield from _options(file, binding.value) if isinstance(binding.value, cst.Call) else [None]


def _classes(file: File, func: cst.BaseExpression) -> Iterator[tuple[_Guards, str]]:
    """The classes that a name may stand for, each under its conditions."""
    names = file.names.resolve(func)
    if len(names) == 1:
        yield from ((_NOWHERE, name) for name in names if name in _CLASSES)
    elif isinstance(func, cst.Name) and names <= _CLASSES:
        for binding in file.names.bindings(func.value, func):
            place = binding.value or binding.node
            if place is not None:
                yield from ((guards_of(file, place), name) for name in file.names.of_binding(binding))


def _is_alike(mine: Choice, theirs: Choice) -> bool:
    return bool(mine) and mine == theirs


@dataclass(frozen=True)
class _Side:
    """One of two texts of a function, and the `with` statements in it that enter the same in both."""

    file: File
    home: str
    same: set[cst.With]

    @property
    def assigned(self) -> set[str]:
        """The names that the function assigns."""
        return {target.value for target, _ in self._assignments()}

    def held(self, name: str) -> Choice:
        """What a name that the function assigns stands for."""
        return next((chosen(self.file, target) for target, _ in self._assignments() if target.value == name), {})

    def only_chooses(self, statement: ast.stmt, scalers: set[str], tests: set[str]) -> bool:
        """Whether a statement only chooses what is entered, or one of some scalers, by one of some conditions.

        Or it stands elsewhere: what is chosen there shows in the function.
        """
        if function_at(self.file.source.text, statement.lineno) != self.home:
            return True
        if isinstance(statement, ast.With):
            return any(self.file.range(each).start.row == statement.lineno for each in self.same)
        if isinstance(statement, ast.If):
            return ast.unparse(statement.test) in {ast.unparse(ast.parse(each, mode="eval")) for each in tests}
        if isinstance(statement, ast.Expr):
            return any(self.file.range(each).start.row == statement.lineno for each in self._bare())
        if not isinstance(statement, ast.Assign) or not all(isinstance(each, ast.Name) for each in statement.targets):
            return False
        names = {ast.unparse(each) for each in statement.targets}
        return names <= scalers or all(map(self._is_only_entered, names))

    def _is_only_entered(self, name: str) -> bool:
        """Whether all that is done with a name is to enter it, in statements that enter the same in both texts."""
        used = [each for each in self.file.tree.find(cst.Name) if each.value == name and self._lies_in_function(each)]
        targets = {id(target) for target, _ in self._assignments()}
        parents = [(each, self.file.tree.parent(each)) for each in used if id(each) not in targets]
        return bool(parents) and all(
            isinstance(item, cst.WithItem)
            and self.file.tree.parent(item) in self.same
            and all(
                self.file.range(each).end <= self.file.range(item).start
                for each, _ in self._assignments()
                if each.value == name
            )
            for _, item in parents
        )

    def _bare(self) -> list[cst.Expr]:
        return [each for each in self.file.tree.find(cst.Expr) if is_bare(self.file, each.value)]

    def _assignments(self) -> Iterator[tuple[cst.Name, cst.Assign]]:
        for each in self.file.tree.find(cst.Assign):
            for target in each.targets:
                if isinstance(target.target, cst.Name) and self._lies_in_function(each):
                    yield target.target, each

    def _lies_in_function(self, node: cst.CSTNode) -> bool:
        return function_at(self.file.source.text, self.file.range(node).start.row) == self.home
