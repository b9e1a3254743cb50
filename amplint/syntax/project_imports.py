"""What a file imports from its own project: the definitions behind qualified names, whichever file they stand in."""

from __future__ import annotations

from pathlib import Path

import libcst as cst

from amplint.model.torch import names as torch_names
from amplint.syntax.bindings import LOCAL, Binding, absolute, dotted
from amplint.syntax.module_reading import Module
from amplint.syntax.names import UNKNOWN, Names
from amplint.syntax.project_files import Modules
from amplint.syntax.tree import Tree

_MAX_HOPS = 8
"""Through so many files an imported name is followed to where it is defined."""
_MAX_MODULES = 40
"""So many files one file may lean on; what lies beyond is unknown."""

Definition = cst.FunctionDef | cst.ClassDef


class Imports:
    """Follows names out of one file; every file that they lead to is grafted onto its tree and its names.

    Args:
        tree: the file.
        names: what its names mean.
        modules: the files of the project; without (a text that has no place on disk) every imported name is unknown.
    """

    def __init__(self, tree: Tree, names: Names, modules: Modules | None = None) -> None:
        self._tree = tree
        self._names = names
        self._modules = modules
        self._grafted: dict[cst.Module, Module] = {}
        self._followed: dict[str, list[Binding]] = {}

    def defined(self, node: cst.BaseExpression) -> Definition | None:
        """The function or class of another file that an expression names, or that a star import must have brought."""
        meanings = self._names.resolve(node)
        if meanings == {UNKNOWN} and (root := _root(node)) is not None:
            rest = dotted(node)[len(root.value) :]
            names = (f"{name}{rest}" for name in self._names.from_stars(root))
            brought = [found for name in names if (found := self.definition(name)) is not None]
            return brought[0] if len(brought) == 1 else None
        return self.definition(next(iter(meanings))) if len(meanings) == 1 else None

    def definition(self, qualified: str) -> Definition | None:
        """The function or class that a qualified name stands for, in another file of the project."""
        bindings = self.bindings(qualified)
        only = bindings[0].node if len(bindings) == 1 else None
        return only if isinstance(only, cst.ClassDef) else self._names.function_of(bindings)

    def class_at(self, path: Path, name: str) -> cst.ClassDef | None:
        """The class of some name at the top of a file of the project, whether this file imports it or not.

        Args:
            path: the file.
            name: the class.
        """
        if path == (self._tree.source.place.path if self._tree.source.place is not None else None):
            own = (
                each for each in self._tree.module.body if isinstance(each, cst.ClassDef) and each.name.value == name
            )
            return next(own, None)
        module = self._modules.name_of(path) if self._modules is not None else ""
        node = self.definition(f"{module}.{name}") if module else None
        return node if isinstance(node, cst.ClassDef) else None

    def bindings(self, qualified: str) -> list[Binding]:
        """Where another file of the project gives a qualified name its meaning; empty when none does."""
        if self._modules is None or qualified == UNKNOWN or qualified.startswith((f"{LOCAL}.", "builtins.", "torch.")):
            return []
        return self._follow(absolute(qualified, self._modules.name), 0)

    def homes(self, qualified: str) -> list[cst.Module]:
        """The other file of the project from which a qualified name is imported, whether it is read as far as that or not,
        and those from which that file imports in turn."""
        if self._modules is None:
            return []
        found = self._modules.split(self.absolute(qualified))
        if found is None or not self._modules.holds(found[0].name):
            return []
        scope = found[0].bindings.by_scope.get(found[0].tree.module, {})
        imported = [
            each.qualified for bindings in scope.values() for each in bindings if isinstance(each.node, cst.ImportAlias)
        ]
        behind = [brought[0] for name in imported if (brought := self._modules.split(name)) is not None]
        return list(dict.fromkeys(each.tree.module for each in (found[0], *behind) if self._graft(each)))

    def originals(self, qualified: str) -> frozenset[str]:
        """What a name stands for that another file of the project hands on, as `compat.autocast` may for `torch.autocast`."""
        return self._originals(self.absolute(qualified), 0) or frozenset({qualified})

    def _originals(self, qualified: str, hops: int) -> frozenset[str]:
        """The original names; empty for what no file of the project, or more than it, gives."""
        found = self._modules.split(qualified) if self._modules is not None else None
        if found is None or hops > _MAX_HOPS or "." in found[1]:
            return frozenset()
        module, name = found
        handed_on = module.handed_on(name)
        if handed_on is None and not self._graft(module):
            return frozenset()
        meanings: set[str] = set()
        for each in handed_on or ():
            meanings |= self._originals(each, hops + 1) or {torch_names.canonical(each)}
        for binding in module.bindings_of(name) if handed_on is None else ():
            if isinstance(binding.node, cst.ImportAlias):
                meanings |= self._originals(binding.qualified, hops + 1) or {torch_names.canonical(binding.qualified)}
            elif binding.value is not None:  # None after a failed import is no meaning of what is called
                meanings |= self._names.resolve(binding.value) - {"builtins.None"}
            else:
                meanings.add(binding.qualified or UNKNOWN)
        return frozenset(meanings)

    def lead_to(self, word: str) -> bool:
        """Whether a file of the project that this one imports, or that such a file imports, holds a word.

        Args:
            word: what is looked for.
        """
        return self._modules is not None and self._modules.lead_to(word, self._tree.source.text)

    def place(self, qualified: str) -> tuple[Path, str] | None:
        """The file of the project in which a qualified name is looked for, and the rest of the name; None for other names."""
        if self._modules is None or qualified == UNKNOWN or qualified.startswith((f"{LOCAL}.", "builtins.", "torch.")):
            return None
        return self._modules.place(self.absolute(qualified))

    def is_own(self, qualified: str) -> bool:
        """Whether a qualified name belongs to a file of the project, whatever it means there."""
        return self._modules is not None and self._modules.split(absolute(qualified, self._modules.name)) is not None

    def is_idle(self, qualified: str) -> bool:
        """Whether a qualified name lies in a file of the project that does nothing which AMP would notice."""
        found = self.place(qualified)
        return found is not None and not self.is_own(qualified)

    def is_passed_over(self, qualified: str) -> bool:
        """Whether a file of the project that does things which AMP would notice binds a qualified name to something else."""
        found = self._modules.split(self.absolute(qualified)) if self._modules is not None else None
        return found is not None and found[0].passes_over(found[1])

    def module(self, node: cst.CSTNode) -> str:
        """The dotted name of the file that holds a node; empty for the file itself."""
        root = self._tree.root(node)
        return self._grafted[root].name if root in self._grafted else ""

    def absolute(self, qualified: str) -> str:
        """A name that this file imports, without leading dots."""
        return absolute(qualified, self._modules.name) if self._modules is not None else qualified

    def _follow(self, qualified: str, hops: int) -> list[Binding]:
        """Where a name without leading dots gets its meaning, through so many files at most.

        Modules that import each other with a star are asked once for each name.
        """
        if qualified not in self._followed:
            self._followed[qualified] = []  # stands while it is worked out: a star may lead back here
            self._followed[qualified] = self._look(qualified, hops) if hops <= _MAX_HOPS else []
        return self._followed[qualified]

    def _look(self, qualified: str, hops: int) -> list[Binding]:
        found = self._modules.split(qualified) if self._modules is not None else None
        if found is None:
            return []
        module, (first, dot, rest) = found[0], found[1].partition(".")
        handed_on = module.handed_on(first)
        if handed_on is not None and len(handed_on) == 1:
            return self._follow(f"{handed_on[0]}{dot}{rest}", hops + 1)
        if rest:
            return []
        if bindings := module.bindings_of(first):
            return bindings if self._graft(module) else []
        starred = [each for star in module.stars if (each := self._follow(f"{star}.{first}", hops + 1))]
        return starred[0] if len(starred) == 1 else []

    def _graft(self, module: Module) -> bool:
        """Take a module in; False when there are too many already."""
        root = module.tree.module
        if root not in self._grafted:
            if len(self._grafted) >= _MAX_MODULES:
                return False
            self._grafted[root] = module
            self._tree.graft(module.tree)
            self._names.graft(module.bindings)
        return True


def _root(node: cst.BaseExpression) -> cst.Name | None:
    """The name that a chain of names and attributes begins with."""
    while type(node) is cst.Attribute:
        node = node.value
    return node if isinstance(node, cst.Name) else None
