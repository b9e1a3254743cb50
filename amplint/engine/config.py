"""`[tool.amplint]` of pyproject.toml, or amplint.toml: found, read, checked."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from amplint.engine import gitignore
from amplint.engine.config_values import KEYS
from amplint.engine.oldest_torch import oldest_torch
from amplint.system.reading import SETTINGS_LIMIT, is_below, read_file

FILE_NAMES = ("amplint.toml", "pyproject.toml")
"""Configuration files, in order of precedence within one folder."""


class ConfigError(Exception):
    """Settings that cannot be used; the message is one line that names the place, and the nearest valid name."""


@dataclass(frozen=True)
class Settings:
    """How the files below one configuration file are checked.

    `root` is the folder that patterns are relative to; `origin` names the configuration file in messages.
    """

    root: Path
    select: tuple[str, ...] = ()
    """Selectors of the rules to run; empty: the default set."""
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    """Patterns in the manner of gitignore, on top of `amplint.engine.discovery.DEFAULT_EXCLUDES`."""
    torch: tuple[int, int] = (2, 3)
    """The oldest PyTorch (major, minor) that the project supports; where the settings name none, its dependencies may."""
    wrappers: tuple[tuple[str, str], ...] = ()
    """Modules whose source is not at hand, each with the file (relative to `root`) that says what they do."""
    cache_dir: str = ""
    """The folder (relative to `root`) of the cache; empty: `amplint.engine.cache_storage` knows one."""
    baseline: str = ""
    """The file (relative to `root`) of the findings that are known; empty: there is none."""
    origin: str = ""

    def excludes(self, path: str, folder: bool = False) -> bool:
        """Whether `exclude` names a path, or a folder above it.

        Args:
            path: the absolute path.
            folder: whether it is one of a folder, of which some patterns speak only.
        """
        return self._matches("exclude", self.exclude, path, folder)

    def ignored_in(self, path: str) -> tuple[str, ...]:
        """The selectors that `per_file_ignores` has for this absolute path."""
        found: list[str] = []
        for pattern, selectors in self.per_file_ignores:
            # A leading "!" speaks of every file but these, which gitignore, where it takes back, has no word for.
            positive = pattern.removeprefix("!")
            if self._matches("per-file-ignores", (positive,), path) == (positive == pattern):
                found.extend(selectors)
        return tuple(found)

    def _matches(self, key: str, written: tuple[str, ...], path: str, folder: bool = False) -> bool:
        try:
            return bool(gitignore.is_ignored(written, str(self.root), path, folder))
        except ValueError as error:
            raise ConfigError(f"{self.place(key)}: bad pattern: {error}") from error

    def place(self, key: str) -> str:
        """Where a value of `key` was written, for messages."""
        return f"{self.origin}: `{key}`" if self.origin else f"`--{key}`"


class Overrides(NamedTuple):
    """What the command line says; None and empty leave the configuration file's word. Patterns are relative to `cwd`."""

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    exclude: tuple[str, ...] = ()
    torch: tuple[int, int] | None = None

    def over(self, settings: Settings, cwd: str) -> Settings:
        """The settings with this put over them; `--select` starts afresh, the others add."""
        root = str(settings.root)
        if self.select is not None:
            settings = replace(settings, select=self.select, extend_select=(), ignore=())
        ignores = self.per_file_ignores
        if ignores is not None:
            moved = ((gitignore.rebase((pattern,), cwd, root), selectors) for pattern, selectors in ignores)
            settings = replace(settings, per_file_ignores=tuple((p, s) for found, s in moved for p in found))
        return replace(
            settings,
            extend_select=settings.extend_select + self.extend_select,
            ignore=tuple(word for word in settings.ignore if word not in self.extend_select) + self.ignore,
            exclude=settings.exclude + gitignore.rebase(self.exclude, cwd, root),
            torch=self.torch or settings.torch,
        )


def nearest(word: str, valid: list[str]) -> str:
    """What to add to a complaint about a word: "; did you mean `x`?", or nothing when no valid word is near.

    Args:
        word: what somebody wrote.
        valid: what they may have meant.
    """
    import difflib

    near = difflib.get_close_matches(word.lower(), [name.lower() for name in valid], 1, 0.5)
    return next((f"; did you mean `{name}`?" for name in valid if near and name.lower() == near[0]), "")


def _display(path: Path) -> str:
    shown = os.path.relpath(path)
    return str(path) if shown.startswith(os.pardir) else shown


def _table(path: Path) -> dict[str, Any] | None:
    """The table of amplint in a file; None when it has none."""
    try:
        data = read_file(path, SETTINGS_LIMIT)
    except OSError as error:
        raise ConfigError(f"{_display(path)}: cannot be read: {error.strerror or error}") from error
    own = path.name != "pyproject.toml"
    if not own and b"amplint" not in data:
        return None  # says nothing to us: not worth importing a parser for
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib  # type: ignore[import-not-found, unused-ignore]
    try:
        document = tomllib.loads(data.decode())
    except ValueError as error:  # beside what is no TOML: text that is no UTF-8, a number of 5,000 digits
        raise ConfigError(f"{_display(path)}: is not valid TOML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{_display(path)}: is nested too deeply") from error
    tools = {"amplint": document} if own else document.get("tool")
    table = tools.get("amplint") if isinstance(tools, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{_display(path)}: `tool.amplint` must be a table")
    return table


def load(path: Path) -> Settings:
    """The settings of a configuration file; those of a pyproject.toml without `[tool.amplint]` are the defaults.

    Raises:
        ConfigError: the file cannot be read or parsed, or holds an unknown key or a bad value.
    """
    table = _table(path) or {}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in KEYS:
            raise ConfigError(f"{_display(path)}: unknown key `{key}`{nearest(key, list(KEYS))}")
        name, read = KEYS[key]
        try:
            values[name] = read(value)
        except ValueError as error:
            raise ConfigError(f"{_display(path)}: `{key}` {error}") from error
    root = Path(os.path.abspath(path.parent))
    settings = Settings(root, origin=_display(path), **({"torch": _target(root)} | values))
    for module, file in settings.wrappers:
        _check_wrapper(settings, module, file)
    for key, file in (("cache-dir", settings.cache_dir), ("baseline", settings.baseline)):
        if file:
            _refuse_outside(settings, key, file)
    return settings


def _target(root: Path) -> tuple[int, int]:
    """The PyTorch that a project is checked for whose settings name none."""
    return oldest_torch(root) or Settings.torch


def _refuse_outside(settings: Settings, key: str, file: str) -> None:
    # Settings come with a tree, and whoever clones one has not agreed to what lies beside it being read or written.
    if not is_below(settings.root / file, settings.root):
        raise ConfigError(f'{settings.place(key)}: "{file}" does not lie below the folder of the settings')


def _check_wrapper(settings: Settings, module: str, file: str) -> None:
    place = settings.place("wrappers")
    if not all(part.isidentifier() for part in module.split(".")):
        raise ConfigError(f'{place}: "{module}" is not the name of a module')
    _refuse_outside(settings, "wrappers", file)
    try:
        data = read_file(settings.root / file, SETTINGS_LIMIT)
        compile(data, file, "exec", 0x400, dont_inherit=True)  # ast.PyCF_ONLY_AST
    except OSError as error:
        raise ConfigError(f"{place}: {file} cannot be read: {error.strerror or error}") from error
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"{place}: {file} is not Python: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise ConfigError(f"{place}: {file} is nested too deeply") from error


def _in_folder(folder: Path) -> Path | None:
    for name in FILE_NAMES:
        path = folder / name
        # A pipe or a device of that name is none, and an error, lest somebody believe that their settings hold.
        if path.exists() and not path.is_dir() and _table(path) is not None:
            return path
    return None


class SettingsResolver:
    """The settings of each file: those of the configuration file nearest above it, under what the command line says.

    Args:
        overrides: what the command line says.
        config: the one configuration file for all files.
        isolated: look at no configuration file.
    """

    def __init__(self, overrides: Overrides, config: Path | None = None, isolated: bool = False) -> None:
        self._cwd = os.getcwd()
        self._overrides = overrides
        here = Path(self._cwd)
        plain = Settings(here) if isolated else Settings(here, torch=_target(here))
        self._defaults = overrides.over(plain, self._cwd)
        self._fixed = overrides.over(load(config), self._cwd) if config else self._defaults if isolated else None
        self._by_folder: dict[Path, Settings] = {}

    def for_file(self, path: Path) -> Settings:
        """The settings of a file.

        Raises:
            ConfigError: its configuration file is of no use.
        """
        return self.for_folder(Path(os.path.abspath(path)).parent)

    def for_folder(self, folder: Path) -> Settings:
        """The settings of the files in a folder (an absolute path).

        Raises:
            ConfigError: its configuration file is of no use.
        """
        if self._fixed is not None:
            return self._fixed
        passed: list[Path] = []
        settings = self._defaults
        for each in chain((folder,), folder.parents):
            known = self._by_folder.get(each) or self._written_in(each)
            passed.append(each)
            if known is not None:
                settings = known
                break
        self._by_folder.update(dict.fromkeys(passed, settings))
        return settings

    def _written_in(self, folder: Path) -> Settings | None:
        path = _in_folder(folder)
        return None if path is None else self._overrides.over(load(path), self._cwd)
