"""One class: its methods, what its attributes are assigned, and both through its bases, also from other files."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import libcst as cst

from amplint.syntax.names import Names, dotted

_PLAIN_BASES = frozenset({"builtins.object", "torch.nn.Module", "torch.autograd.Function", "abc.ABC", "typing.Generic"})
_UNBOUND = frozenset({"staticmethod", "classmethod"})


class ClassInfo:
    """One class. `attributes` are the values that any method assigns to `self.<name>`, or the class body to `<name>`.

    Args:
        node: its definition.
        names: what the names of its file mean.
        lookup: finds a base class by its qualified name; None where its source is not at hand.
        inert: the names of its methods that are left out, since nothing of AMP is in them.
        idle: whether a base of a qualified name, of which nothing is found, is in a file of the project all the same: in one that
            holds nothing of AMP.
    """

    def __init__(
        self,
        node: cst.ClassDef,
        names: Names,
        lookup: Callable[[str], ClassInfo | None],
        inert: frozenset[str] = frozenset(),
        idle: Callable[[str], bool] = lambda name: False,
    ) -> None:
        self.node = node
        self.name = node.name.value
        self._lookup, self._idle = lookup, idle
        self.inert = inert
        self.base_names = frozenset().union(*(names.resolve(base.value) for base in node.bases if not base.keyword))
        self.methods: dict[str, cst.FunctionDef] = {}
        self.attributes: dict[str, list[cst.BaseExpression]] = {}
        for statement in node.body.body:
            if isinstance(statement, cst.FunctionDef):
                self.methods[statement.name.value] = statement
            elif isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    self._class_level(small)

    def _class_level(self, statement: cst.BaseSmallStatement) -> None:
        if isinstance(statement, cst.Assign):
            for target in statement.targets:
                if isinstance(target.target, cst.Name):
                    self.add(target.target.value, statement.value)
        elif isinstance(statement, cst.AnnAssign) and isinstance(statement.target, cst.Name) and statement.value:
            self.add(statement.target.value, statement.value)

    def add(self, name: str, value: cst.BaseExpression) -> None:
        """File a value that is assigned to the attribute.

        Args:
            name: the attribute of `self`.
            value: the expression that is assigned.
        """
        self.attributes.setdefault(name, []).append(value)

    @cached_property
    def bases(self) -> list[ClassInfo]:
        """The bases whose source is at hand."""
        found = (self._lookup(name) for name in sorted(self.base_names))
        return [info for info in found if info is not None and info is not self]

    @property
    def lineage(self) -> list[ClassInfo]:
        """The class, then its bases whose source is at hand, nearest first."""
        found: list[ClassInfo] = []
        waiting = [self]
        while waiting:
            current = waiting.pop(0)
            if current not in found:
                found.append(current)
                waiting.extend(current.bases)
        return found

    def method(self, name: str) -> cst.FunctionDef | None:
        """The method that `self.<name>()` calls, if its source is at hand and it is not inert."""
        return next(
            (info.methods.get(name) for info in self.lineage if name in info.methods or name in info.inert), None
        )

    def unbound(self, name: str) -> cst.FunctionDef | None:
        """The static or class method that is called by the name of the class (`Trainer.finish(scaler)`); None for any other."""
        found = self.method(name)
        kinds = {dotted(each.decorator) for each in found.decorators} if found is not None else set()
        return found if kinds & _UNBOUND else None

    def values(self, attribute: str) -> list[cst.BaseExpression]:
        """Everything that is assigned to the attribute, in this class and its bases whose source is at hand."""
        return [value for info in self.lineage for value in info.attributes.get(attribute, ())]

    @property
    def is_module(self) -> bool:
        """Whether it is derived from `torch.nn.Module` where that can be seen."""
        return any("torch.nn.Module" in info.base_names for info in self.lineage)

    @property
    def closed(self) -> bool:
        """Whether the source of every base is at hand, or holds nothing of AMP: no method comes from elsewhere."""
        return not self.foreign_bases

    @property
    def foreign_bases(self) -> frozenset[str]:
        """The names of the bases that methods may come from whose source is not at hand."""
        names = frozenset(name for info in self.lineage for name in info.base_names)
        unknown = (name for name in names if name not in _PLAIN_BASES and self._lookup(name) is None)
        return frozenset(name for name in unknown if not self._idle(name))


def is_only_announced(method: cst.FunctionDef) -> bool:
    """Whether a method leaves what it does to subclasses: it raises `NotImplementedError`, or does nothing."""
    lines = [method.body] if isinstance(method.body, cst.SimpleStatementSuite) else method.body.body
    simple = [line for line in lines if isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite))]
    if len(simple) < len(lines):
        return False
    statements: list[cst.BaseSmallStatement] = [small for line in simple for small in line.body]
    return all(isinstance(each, cst.Pass) or _is_text(each) or _is_not_implemented(each) for each in statements)


def _is_text(statement: cst.BaseSmallStatement) -> bool:
    told = (cst.SimpleString, cst.ConcatenatedString, cst.Ellipsis)
    return isinstance(statement, cst.Expr) and isinstance(statement.value, told)


def _is_not_implemented(statement: cst.BaseSmallStatement) -> bool:
    raised = statement.exc if isinstance(statement, cst.Raise) else None
    return dotted(raised.func if isinstance(raised, cst.Call) else raised) == "NotImplementedError" if raised else False
