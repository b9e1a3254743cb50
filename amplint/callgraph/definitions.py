"""What names at the top of files stand for: functions, classes and modules, also through imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

from amplint.callgraph.bound_names import BoundNames, Function
from amplint.callgraph.import_graph import ImportGraph
from amplint.model.records import NamedTuple
from amplint.python_ast import gate
from amplint.system import limits

_MOST_FILES = 40
"""Through so many files in a row a name is followed."""

Scope = Function | None
"""The function that an expression stands in; None at the top of a file."""


class Definition(NamedTuple):
    """A function or class at the top of a file."""

    path: Path
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


_READ: WeakKeyDictionary[ast.Module, BoundNames] = WeakKeyDictionary()
"""What the trees bind that somebody still holds: the files that are not edited are read once for several checks."""


class Definitions:
    """Follows names to definitions.

    Args:
        graph: the files of the project.

    Attributes:
        characters: how long the files are together that were parsed.
    """

    def __init__(self, graph: ImportGraph) -> None:
        self.characters = 0
        self._graph = graph
        self._modules: dict[Path, ast.Module] = {}
        self._tops: dict[Path, BoundNames] = {}
        self._within: dict[Function, BoundNames] = {}
        self._found: dict[tuple[Path, str, Scope], Definition | None] = {}
        self._depth = 0

    def find(self, path: Path, name: str, scope: Scope = None) -> Definition | None:
        """What a name stands for at the top of a file, in that file or in the one that it is imported from.

        Args:
            path: the file.
            name: the name, or one behind modules: `losses.dice`; empty for what has none.
            scope: the function in which the name stands, whose own imports come first.
        """
        key = path, name, scope
        if name and key not in self._found and self._depth < _MOST_FILES:
            self._found[key] = None  # stands while it is looked for: files may import each other in a circle
            self._depth += 1
            self._found[key] = self._find(path, name, scope)
            self._depth -= 1
        return self._found.get(key)

    def _find(self, path: Path, name: str, scope: Scope) -> Definition | None:
        before, _, last = name.rpartition(".")
        if before:
            module = self.imported_module(path, before, scope)
            return self.find(module, last) if module is not None else None
        top = self._top(path)
        for bound in self._bound(path, scope):
            if bound is top and name in top.defined:
                return Definition(path, top.defined[name])
            found = (self.find(source, original) for source, original in self._from(path, bound, name))
            if (taken := next((each for each in found if each is not None), None)) is not None:
                return taken
        return None

    def module(self, path: Path) -> ast.Module:
        """The tree of a file; empty where it cannot be parsed."""
        if path not in self._modules:
            text = self._graph.data(path).decode("utf-8", "replace")
            self.characters += len(text)
            try:
                self._modules[path] = gate.parse(text)
            except (SyntaxError, ValueError, gate.TooDeep, limits.TextTooLong):
                self._modules[path] = ast.Module([], [])
        return self._modules[path]

    def top(self, path: Path) -> list[ast.stmt]:
        """The statements of a file that no function or class holds, also in blocks such as those of `if` and `try`."""
        return self._top(path).statements

    def named_in(self, path: Path, name: str) -> Iterator[Definition]:
        """The functions and classes at the top of a file that have some name.

        Args:
            path: the file.
            name: the name; empty for all of them.
        """
        for node in self.top(path):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and name in ("", node.name):
                yield Definition(path, node)

    def lineage(self, owner: Definition) -> list[Definition]:
        """A class and its bases in the project, and theirs: who is nearer comes first.

        Args:
            owner: the class.
        """
        classes = [owner]
        for path, node in classes:  # it grows
            bases = node.bases if isinstance(node, ast.ClassDef) else []
            found = (self.find(path, ast.unparse(base)) for base in bases)
            classes += [each for each in found if each is not None and each not in classes]
        return classes

    def method(self, owner: Definition, name: str) -> Definition | None:
        """The method of a class, its own one or that of a base in the project.

        Args:
            owner: the class.
            name: the name of the method.
        """
        found = ((each.path, method_of(each, name)) for each in self.lineage(owner))
        return next((Definition(path, node) for path, node in found if node is not None), None)

    def class_around(self, path: Path, scope: Scope) -> Definition | None:
        """The class at the top of a file that a function is a method of.

        Args:
            path: the file.
            scope: the function.
        """
        classes = (each for each in self.top(path) if isinstance(each, ast.ClassDef) and scope in each.body)
        return next((Definition(path, each) for each in classes), None)

    def _top(self, path: Path) -> BoundNames:
        if path not in self._tops:
            tree = self.module(path)
            known = _READ.get(tree)
            self._tops[path] = _READ[tree] = BoundNames(tree.body) if known is None else known
        return self._tops[path]

    def _bound(self, path: Path, scope: Scope) -> Iterator[BoundNames]:
        """The names of a function, then those of its file."""
        if scope is not None:
            if scope not in self._within:
                self._within[scope] = BoundNames(scope.body)
            yield self._within[scope]
        yield self._top(path)

    def sources(self, path: Path, name: str, scope: Scope = None) -> Iterator[tuple[Path, str]]:
        """The files that a name of a file may be imported from, each with what it is called there.

        Args:
            path: the file.
            name: the name; `*` for all of them.
            scope: the function in which the name stands, whose own imports come first.
        """
        for bound in self._bound(path, scope):
            yield from self._from(path, bound, name)

    def _from(self, path: Path, bound: BoundNames, name: str) -> Iterator[tuple[Path, str]]:
        """The files that the imports of a file, or of a function in it, may take a name from, as `sources`."""
        for module, original in bound.sources(name):
            source = self._graph.find(module, path)
            if source is not None:
                yield source, original

    def imported_module(self, path: Path, name: str, scope: Scope = None) -> Path | None:
        """The file that a file calls by a name, such as `losses` after `from . import losses`.

        Args:
            path: the file that imports.
            name: the name.
            scope: the function in which the name stands, whose own imports come first.
        """
        module = next((bound.modules[name] for bound in self._bound(path, scope) if name in bound.modules), None)
        return self._graph.find(module, path) if module is not None else None

    def modules_below(self, package: str, importer: Path) -> Iterator[tuple[str, Path]]:
        """The modules of a package, and of those in it, by their full names.

        Args:
            package: the name of the package.
            importer: a file that could import it.
        """
        folder = package.rpartition(".")[2]
        for path in self._graph.files:
            parts = path.with_suffix("").parts
            for position, part in enumerate(parts[:-1]):
                inside = [each for each in parts[position + 1 :] if each != "__init__"] if part == folder else []
                name = ".".join((package, *inside))
                if inside and self._graph.find(name, importer) == path:
                    yield name, path

    def library_name(self, path: Path, name: str, scope: Scope = None) -> str:
        """The full name of what a name means that is imported, and from no file of the project; empty for any other.

        Args:
            path: the file.
            name: the name, or one behind modules: `timm.create_model`.
            scope: the function in which the name stands, whose own imports come first.
        """
        root, dot, rest = name.partition(".")
        module = next((bound.modules[root] for bound in self._bound(path, scope) if root in bound.modules), "")
        homes = (module, module.rpartition(".")[0])
        is_of_project = any(self._graph.find(each, path) for each in homes if each)
        return "" if is_of_project or not module else f"{module}{dot}{rest}"


def method_of(owner: Definition, name: str) -> Function | None:
    """The method of some name that stands in the body of a class.

    Args:
        owner: the class.
        name: the name of the method.
    """
    functions = (each for each in owner.node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
    return next((each for each in functions if each.name == name), None)
