"""`[tool.amplint]` of pyproject.toml, or amplint.toml: found, read, checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from amplint.engine import config_text
from amplint.engine.config_values import KEYS
from amplint.engine.nearest import nearest
from amplint.engine.oldest_torch import oldest_torch
from amplint.engine.settings import ConfigError, Overrides, Settings
from amplint.system.reading import SETTINGS_LIMIT, is_below, read_file, shown_path

__all__ = ["ConfigError", "FILE_NAMES", "INLINE", "Overrides", "Settings", "SettingsResolver", "inline", "load"]

INLINE = "--config"
"""Where settings come from that the command line spells out."""
_OF_OTHERS = {
    "extend": "no settings of other files are added: what two projects share stands in both",
    "lint": "all keys stand in one table, without `lint`",
}
"""Keys that other linters have, each with what is to be done without it."""
FILE_NAMES = ("amplint.toml", "pyproject.toml")
"""Configuration files, in order of precedence within one folder."""


def _place(path: Path, keys: tuple[str, ...]) -> str:
    row = config_text.row_of(path, keys)
    return f"{shown_path(path)}:{row}:" if row else f"{shown_path(path)}:"


def _table(path: Path) -> dict[str, Any] | None:
    """The table of amplint in a file; None when it has none."""
    try:
        return config_text.table_of(path)
    except ValueError as error:
        raise ConfigError(f"{shown_path(path)}: {error}") from error


def _values(table: Mapping[str, Any], place: Callable[..., str]) -> dict[str, Any]:
    """What a table says, by the fields of `Settings`; `place` begins a message about the key that it is given."""
    values: dict[str, Any] = {}
    for name, value in table.items():
        if name in _OF_OTHERS:
            raise ConfigError(f"{place(name)} unknown key `{name}`; {_OF_OTHERS[name]}")
        if name not in KEYS:
            near = nearest(name, list(KEYS)) or f"; the keys are {', '.join(KEYS)}"
            raise ConfigError(f"{place(name)} unknown key `{name}`{near}")
        try:
            values[KEYS[name].field] = KEYS[name].kind.read(value)
        except ValueError as error:
            message, *inside = error.args
            shown = config_text.shown_key([name, *inside])
            raise ConfigError(f"{place(name, *inside)} `{shown}` {message}") from error
    return values


def load(path: Path) -> Settings:
    """The settings of a configuration file; those of a pyproject.toml without `[tool.amplint]` are the defaults.

    Raises:
        ConfigError: the file cannot be read or parsed, or holds an unknown key or a bad value.
    """
    root = Path(os.path.abspath(path.parent))
    values = _values(_table(path) or {}, lambda *keys: _place(path, keys))
    settings = Settings(root, origin=shown_path(path), **({"torch": _target(root)} | values))
    for module, file in settings.wrappers:
        _refuse_outside(settings, file, "wrappers", module)
        _check_wrapper(settings, module, file)
    for key, file in (("cache-dir", settings.cache_dir), ("baseline", settings.baseline)):
        if file:
            _refuse_outside(settings, file, key)
    return settings


def inline(texts: Iterable[str]) -> tuple[tuple[str, Any], ...]:
    """The fields of `Settings` that lines of TOML fill, as the command line gives them; later ones count.

    Raises:
        ConfigError: one is no TOML, or holds an unknown key or a bad value.
    """
    values: dict[str, Any] = {}
    for text in texts:
        try:
            table = config_text.parsed(text)
        except ValueError as error:
            raise ConfigError(f"{INLINE}: `{text}` {error}") from error
        values |= _values(table, lambda *keys: f"{INLINE}:")
    given = Settings(Path.cwd(), origin=INLINE, **values)
    for module, file in given.wrappers:
        _check_wrapper(given, module, file)
    return tuple(values.items())


def _target(root: Path) -> tuple[int, int]:
    """The PyTorch that a project is checked for whose settings name none."""
    return oldest_torch(root) or Settings.torch


def _refuse_outside(settings: Settings, file: str, *keys: str) -> None:
    # Settings come with a tree, and whoever clones one has not agreed to what lies beside it being read or written.
    if not is_below(settings.root / file, settings.root):
        raise ConfigError(f'{settings.place(*keys)}: "{file}" does not lie below the folder of the settings')


def _check_wrapper(settings: Settings, module: str, file: str) -> None:
    place = settings.place("wrappers", module)
    if not all(part.isidentifier() for part in module.split(".")):
        raise ConfigError(f'{place}: "{module}" is not the name of a module')
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
        # A folder, a pipe or a device of that name is none, and an error, lest somebody believe that their settings hold.
        if path.exists() and _table(path) is not None:
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
        try:
            path = _in_folder(folder)
            return None if path is None else self._overrides.over(load(path), self._cwd)
        except ConfigError as error:
            if folder in Path(self._cwd).parents:  # somebody else's, maybe: nothing nearer says which settings hold
                raise ConfigError(
                    f"{error}; it holds here for want of a nearer one: `--isolated` does without"
                ) from error
            raise
