"""The other files of the project that a file imports from, and where they are found.

A name is looked for as Python would from the file itself: below the folder that holds its top package, and below the folders
above that, up to the root of the project, and in their `src`, `lib` and `core`; from a script, also next to it. What lies
outside the root, also behind a link that lies inside, is some installed library: unknown, unless a wrapper says in its place
what it does to scalers, optimizers and gradients. Wrappers are ordinary modules: those of `amplint/wrappers` know widely used
libraries, and the settings may name more.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from amplint.diagnostics import Footing
from amplint.python_ast import gate
from amplint.python_ast.imports import names_imported_by
from amplint.source import SOURCE_FOLDERS, FileLocation
from amplint.syntax.module_reading import Module, read_module
from amplint.system.reading import is_below, stamp

_MOST_NAMES = 200
"""So many imported names are looked behind for what they lead to."""
_WRAPPERS = Path(__file__).parent.parent / "wrappers"
"""One file for each module, called after it."""
_MAIN = re.compile(r"""^if[ (]+(__name__\s*==\s*["']__main__["']|["']__main__["']\s*==\s*__name__)""", re.MULTILINE)
"""How a script begins that other files may import as well."""
_NEVER_NEXT_TO_A_SCRIPT = sys.stdlib_module_names | {"torch"}
"""A package may have modules of these names, but a script in it will hardly mean them."""


class Modules:
    """The modules that one file can import from its own project.

    Args:
        place: where the file lies; nothing outside the root is read.
        text: the file.
    """

    def __init__(self, place: FileLocation, text: str = "") -> None:
        base = _import_root(place.path)
        self._path = place.path
        self._wrappers = {**_known_wrappers(), **dict(place.wrappers)}
        self._given = frozenset(dict(place.wrappers))
        self._wrapped = {name.partition(".")[0] for name in self._wrappers}
        self.name = _dotted(place.path, base)
        self._root = place.root if place.root in (base, *base.parents) else base
        straight = Path(os.path.realpath(self._root), base.relative_to(self._root)) == Path(os.path.realpath(base))
        self._absent: dict[str, set[str]] = {}
        # Where no link leads from the root to the file, only a folder that is one can lead out.
        self._folders = [
            path
            for path in dict.fromkeys(self._searched(_folders(base, place.root)))
            if straight and not path.is_symlink() or self._is_inside(path)
        ]
        is_inner = place.path.parent != base and _MAIN.search(text) is not None
        self._beside = place.path.parent if is_inner and self._is_inside(place.path.parent) else None
        self._listings: dict[Path, frozenset[str]] = {}
        self._top: dict[tuple[str, bool], Path | None] = {}
        self._found: dict[str, Module | None] = {}
        self._read: dict[str, str] = {}

    def _searched(self, folders: Iterable[Path]) -> Iterator[Path]:
        """Some folders, each with those in it that modules are looked for in, too."""
        for folder in folders:
            yield folder
            text = str(folder)
            for name in SOURCE_FOLDERS:
                if os.path.isdir(f"{text}/{name}"):
                    yield folder / name
                else:
                    self._absent.setdefault(text, set()).add(name)

    def footing(self) -> Footing:
        """What all answers so far rest on."""
        absent = {folder: tuple(sorted(names)) for folder, names in self._absent.items()}
        return Footing(tuple(sorted(self._read.items())), tuple(sorted(absent.items())))

    def split(self, qualified: str) -> tuple[Module, str] | None:
        """The module that a qualified name lies in, and the rest of the name."""
        parts = qualified.split(".")
        for count in range(len(parts) - 1, 0, -1):
            name = ".".join(parts[:count])
            module = self.find(name)
            if module is not None:
                return module, ".".join(parts[count:])
            if self._folder_of(parts[0], package=False) is None and parts[0] not in self._wrapped:
                return None
        return None

    def lead_to(self, word: str, text: str) -> bool:
        """Whether a module that a file imports, or one that such a module imports, holds a word.

        Args:
            word: what is looked for.
            text: the file.
        """
        waiting, seen = [(self.name, text)], set[str]()
        while waiting and len(seen) < _MOST_NAMES:
            importer, text = waiting.pop()
            for name in names_imported_by(gate.parse(text), importer):
                known = name in seen or name.partition(".")[0] in self._wrapped
                module = None if known else self.find(name)
                seen.add(name)
                if module is not None and word in module.source.text:
                    return True
                waiting += [(module.name, module.source.text)] if module is not None else []
        return False

    def place(self, qualified: str) -> tuple[Path, str] | None:
        """The file in which a qualified name is looked for, and the rest of the name; it is not read."""
        parts = qualified.split(".")
        for count in range(len(parts) - 1, 0, -1):
            path = self._place_of(".".join(parts[:count]))
            if path is not None:
                return path, ".".join(parts[count:])
            if self._folder_of(parts[0], package=False) is None:
                return None
        return None

    def find(self, name: str) -> Module | None:
        """The module of this dotted name; None when the project has none, or it does nothing that AMP would notice."""
        if name not in self._found:
            self._found[name] = self._look(name)
        return self._found[name]

    def _look(self, name: str) -> Module | None:
        path = self._place_of(name)
        # A library's own repository, or a copy of it, is read as it stands: it may be another release than the one described.
        if name in self._given or (path is None and name in self._wrappers):
            return self._load(self._wrappers[name], name, is_wrapper=True)
        if path is None or path == self._path:
            return None
        # A folder without `__init__.py` is a package all the same, which only whoever imports from it can tell.
        known = _dotted(path, _import_root(path))
        called = f"{name}.__init__" if path.name == "__init__.py" and not name.endswith("__init__") else name
        return self._load(path, known if self._place_of(known) == path else called)

    def name_of(self, path: Path) -> str:
        """The dotted name by which a file of the project can be imported; empty where it cannot.

        Args:
            path: the file.
        """
        below = (_dotted(path, folder) for folder in self._folders if folder in path.parents)
        return next((name for name in below if self._place_of(name) == path), "")

    def holds(self, name: str) -> bool:
        """Whether a module is a file of the project, whatever a wrapper says in its place."""
        return self._place_of(name) is not None

    def _place_of(self, name: str) -> Path | None:
        """The file of a module of the project."""
        top, *rest = name.split(".")
        folder = self._folder_of(top, package=bool(rest))
        if folder is None:
            return None
        place = folder.joinpath(top, *rest)
        for path in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
            if path.is_file():
                return path
            if path.parent.is_dir():
                self._absent.setdefault(str(path.parent), set()).add(path.name)
        return None

    def _folder_of(self, top: str, package: bool) -> Path | None:
        """The folder in which the first part of a name lies.

        Args:
            top: the first part.
            package: whether more parts follow, so that a file of that name will not do.
        """
        key = top, package
        if key not in self._top:
            self._top[key] = next(self._holding(top, package), None)
        return self._top[key]

    def _holding(self, top: str, package: bool) -> Iterator[Path]:
        installed = top in _NEVER_NEXT_TO_A_SCRIPT
        beside = [self._beside] if self._beside is not None and not installed else []
        for folder in (*self._folders, *beside):
            if installed and folder.name in SOURCE_FOLDERS:
                continue
            names = self._listing(folder)
            if top in names or (f"{top}.py" in names and not package):
                yield folder
            self._absent.setdefault(str(folder), set()).update((top, f"{top}.py"))

    def _listing(self, folder: Path) -> frozenset[str]:
        if folder not in self._listings:
            self._listings[folder] = frozenset(os.listdir(folder)) if folder.is_dir() else frozenset()
        return self._listings[folder]

    def _is_inside(self, path: Path) -> bool:
        return path == self._root or is_below(path, self._root)

    def _load(self, path: Path, name: str, is_wrapper: bool = False) -> Module | None:
        try:
            if not (is_wrapper or self._is_inside(path)):
                raise PermissionError(path)
            status = stamp(path)
            digest, module = read_module(str(path), name, is_wrapper, status.st_size, status.st_mtime_ns)
        except OSError:
            digest, module = "", None
        self._read[str(path)] = digest
        return module


@lru_cache(maxsize=1)
def _known_wrappers() -> dict[str, Path]:
    return {path.name.removesuffix(".pyi"): path for path in _WRAPPERS.glob("*.pyi")}


def _folders(base: Path, root: Path) -> Iterator[Path]:
    inside = base == root or root in base.parents
    # The root of a project may hold an `__init__.py` by mistake: programs that run there do not see a package.
    around = base.parents if inside else (root,) if base in root.parents else ()
    for folder in (base, *around):
        yield folder
        if folder == root:
            return


def _import_root(path: Path) -> Path:
    """The folder that must be on Python's path for the packages around a file to be found."""
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    return folder


def _dotted(path: Path, base: Path) -> str:
    return ".".join(path.relative_to(base).with_suffix("").parts)
