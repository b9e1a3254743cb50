"""Which file of a project imports which, told from their bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from pathlib import Path

from amplint.callgraph.contents import Content, content_of
from amplint.source import SOURCE_FOLDERS
from amplint.system.memory import Kept, Memory, in_use

_REGISTERS = (b".register", b"@register_model")
_KEPT = 32_000_000
"""Of the files that were asked for last, so many bytes are kept: all of them would take as much memory as the project."""


class ImportGraph:
    """The files of a project, and the imports between them.

    A name is looked for as Python would from the folder of the importing file and from those above it, up to the root, and
    in their `src`, `lib` and `core`. Nothing is parsed: an import in a string counts, too.

    Args:
        files: the paths of all files.
        root: the folder of the project.
    """

    def __init__(self, files: Iterable[Path], root: Path) -> None:
        self.files = frozenset(files)
        self._root = root
        self._paths = {str(path): path for path in self.files}
        self._names = {part for path in self._paths for part in path.removesuffix(".py").split(os.sep)}
        # What somebody keeps anyway takes no more memory here.
        self.content = lru_cache(None)(content_of) if in_use().keeps(Kept.CONTENTS) else self._recent
        self._contents = Memory({Kept.CONTENTS: _KEPT})
        self._parts: dict[str, list[str] | None] = {}
        self._found: dict[tuple[str, Path], Path | None] = {}
        self._searched: dict[Path, list[str]] = {}
        self._packages: dict[Path, list[Path]] = {}
        self._around: dict[Path, list[Path]] = {}
        self._imported: dict[Path, frozenset[Path]] = {}
        self._through: dict[Path, frozenset[Path]] = {}
        self._families: dict[Path, frozenset[Path]] = {}
        self._users: dict[Path, frozenset[Path]] = {}

    def _recent(self, path: Path) -> Content:
        """The content of a file, as long as it is one of those that were asked for last."""
        known: Content | None = self._contents.known(Kept.CONTENTS, path)
        if known is None:
            known = content_of(path)
            self._contents.keep(Kept.CONTENTS, path, known, len(known.data))
        return known

    def data(self, path: Path) -> bytes:
        """The content of a file; nothing where it cannot be read."""
        return self.content(path).data

    def find(self, module: str, importer: Path) -> Path | None:
        """The file of a module, by its name as an import statement has it, leading dots included.

        Args:
            module: the name.
            importer: the file that imports it.
        """
        return self._find_from(importer.parent, module, importer)

    def _find_from(self, folder: Path, module: str, importer: Path) -> Path | None:
        """The file of a module that a file in some folder imports; the folder of a path takes long to be told."""
        if module not in self._parts:
            parts = [part for part in module.split(".") if part]
            self._parts[module] = parts if self._names.issuperset(parts) else None
        if self._parts[module] is None:
            return None  # as of most modules: they are installed
        key = module, folder
        if key not in self._found:
            self._found[key] = self._find(module, folder)
        if self._found[key] == importer:  # no file imports itself: `from model import Net` in `utils/model.py`
            return self._find(module, folder, but=importer)
        return self._found[key]

    def _find(self, module: str, folder: Path, but: Path | None = None) -> Path | None:
        parts, dots = self._parts[module] or [], len(module) - len(module.lstrip("."))
        if dots:
            for _ in range(dots - 1):
                folder = folder.parent
            return self._at(f"{folder}/{'/'.join(parts)}" if parts else str(folder))
        below = "/".join(parts)
        found = (self._at(f"{base}/{below}") for base in self._bases(folder))
        return next((each for each in found if each not in (None, but)), None)

    def _bases(self, folder: Path) -> list[str]:
        """The folders in which modules are looked for that files of a folder import."""
        if folder not in self._searched:
            outer = self._bases(folder.parent) if folder not in (self._root, folder.parent) else []
            inner = (f"{folder}/{name}" for name in SOURCE_FOLDERS)
            self._searched[folder] = [str(folder), *inner, *outer]
        return self._searched[folder]

    def _at(self, place: str) -> Path | None:
        return self._paths.get(f"{place}.py") or self._paths.get(f"{place}/__init__.py")

    def imported(self, path: Path) -> frozenset[Path]:
        """The files that a file imports."""
        if path not in self._imported:
            found = set(self._find_all(path))
            # To import a module runs the packages around it first.
            around = {package for each in found for package in self._packages_of(each)}
            found |= around.difference(self._packages_of(path))
            self._imported[path] = frozenset(found - {path})
        return self._imported[path]

    def imported_through_packages(self, path: Path) -> frozenset[Path]:
        """The files that a file imports, with those that packages among them import."""
        if path not in self._through:
            found = [*self.imported(path)]
            seen = {*found}
            for each in found:  # it grows
                if each.name == "__init__.py":
                    inner = self.imported(each) - seen
                    found += inner
                    seen |= inner
            self._through[path] = frozenset(seen)
        return self._through[path]

    def _packages_of(self, path: Path) -> list[Path]:
        """The files of the packages that a file lies in."""
        if path not in self._around:
            self._around[path] = self._packages_around(path.parent)
        return self._around[path]

    def _packages_around(self, folder: Path) -> list[Path]:
        """The files of the packages that the files of a folder lie in."""
        if folder not in self._packages:
            package = self._paths.get(f"{folder}/__init__.py")
            self._packages[folder] = [package, *self._packages_around(folder.parent)] if package is not None else []
        return self._packages[folder]

    def _find_all(self, path: Path) -> Iterator[Path]:
        folder = path.parent
        for module, names in self.content(path).imports:
            found = self._find_from(folder, module, path)
            if found is not None:
                yield found
                if found.name == "__init__.py":
                    below = (self._at(f"{found.parent}/{name}") for name in names)
                    yield from (each for each in below if each is not None)

    @cached_property
    def _all_read(self) -> tuple[Mapping[Path, list[Path]], list[Path]]:
        """Who imports each file, and which files register something; each file is read once for both."""
        importers: dict[Path, list[Path]] = {}
        registering: list[Path] = []
        for path in self.files:
            if any(map(self.content(path).holds, _REGISTERS)):
                registering.append(path)
            for other in self.imported(path):
                importers.setdefault(other, []).append(path)
        return importers, sorted(registering)

    @property
    def _importers(self) -> Mapping[Path, list[Path]]:
        return self._all_read[0]

    @property
    def registering(self) -> list[Path]:
        """The files whose text registers something (`@LOSSES.register_module()`), in the order of their paths."""
        return self._all_read[1]

    def family(self, path: Path) -> frozenset[Path]:
        """The files that are led to together with a file: what one of them makes may be handed to another."""
        if path not in self._families:
            self._families[path] = _closure(self.users(path), self.imported)
        return self._families[path]

    def users(self, path: Path) -> frozenset[Path]:
        """The files from which imports lead to a file, itself among them."""
        if path not in self._users:
            self._users[path] = _closure([path], lambda each: self._importers.get(each, ()))
        return self._users[path]

    def connected(self, path: Path) -> frozenset[Path]:
        """The files that imports lead to from a file, in either direction, over however many others."""
        return _closure([path], lambda each: self.imported(each).union(self._importers.get(each, ())))


def _closure(start: Iterable[Path], following: Callable[[Path], Iterable[Path]]) -> frozenset[Path]:
    seen = set(start)
    waiting = [*seen]
    while waiting:
        new = set(following(waiting.pop())) - seen
        seen |= new
        waiting += new
    return frozenset(seen)
