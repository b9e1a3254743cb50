"""How files are checked: what their configuration file says, and the command line over it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from amplint.engine import config_text, gitignore
from amplint.engine.config_values import SEVERITIES
from amplint.model.records import NamedTuple, frozen


class ConfigError(Exception):
    """Settings that cannot be used; the message is one line that names the place, and the nearest valid name."""


@frozen
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
    fixable: tuple[str, ...] = ("ALL",)
    """Selectors of the rules whose fixes may be applied, without those that `unfixable` names."""
    unfixable: tuple[str, ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    """Selectors of rules, each with the severity that counts instead of the rule's own."""
    rules: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...] = ()
    """Selectors of single rules, each with the options of the rule that are set."""
    min_severity: str = SEVERITIES[-1]
    """What a finding must be as bad as to be reported."""
    ignore_noqa: bool = False
    """Whether suppression comments count for nothing."""
    include: tuple[str, ...] = ()
    """Patterns in the manner of gitignore of the files that a walk takes; empty: `amplint.engine.discovery` knows them."""
    respect_gitignore: bool = True
    output_format: str = ""
    fix: bool = False
    unsafe_fixes: bool = False
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

    def includes(self, path: str, suffixes: tuple[str, ...]) -> bool:
        """Whether a walk takes a file.

        Args:
            path: its absolute path.
            suffixes: what its name ends in, unless `include` says which files are taken.
        """
        return self._matches("include", self.include, path) if self.include else path.endswith(suffixes)

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

    def place(self, *keys: str) -> str:
        """Where the value of a key, behind those of the tables around it, was written, for messages."""
        key = config_text.shown_key(keys)
        if not self.origin:
            return f"`--{key}`"
        row = config_text.row_of(self.root / Path(self.origin).name, keys)
        return f"{self.origin}:{row}: `{key}`" if row else f"{self.origin}: `{key}`"


class Overrides(NamedTuple):
    """What the command line says; None and empty leave the configuration file's word. Patterns are relative to `cwd`.

    `inline` are fields of `Settings` that `--config "key = value"` fills, which the options of their own go over.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] | None = None
    exclude: tuple[str, ...] = ()
    torch: tuple[int, int] | None = None
    fixable: tuple[str, ...] = ()
    unfixable: tuple[str, ...] = ()
    ignore_noqa: bool = False
    respect_gitignore: bool | None = None
    min_severity: str = SEVERITIES[-1]
    inline: tuple[tuple[str, Any], ...] = ()

    def over(self, settings: Settings, cwd: str) -> Settings:
        """The settings with this put over them; `--select` starts afresh, the others add.

        Args:
            settings: those of a configuration file, or the defaults.
            cwd: the absolute path of the folder that patterns are relative to.
        """
        root = str(settings.root)
        settings = self._with_inline(settings, cwd)
        if self.select is not None:
            settings = replace(settings, select=self.select, extend_select=(), ignore=())
        if self.per_file_ignores is not None:
            settings = replace(settings, per_file_ignores=_moved(self.per_file_ignores, cwd, root))
        asked = {word.lower() for word in self.extend_select}
        return replace(
            settings,
            extend_select=settings.extend_select + self.extend_select,
            ignore=tuple(word for word in settings.ignore if word.lower() not in asked) + self.ignore,
            exclude=settings.exclude + gitignore.rebase(self.exclude, cwd, root),
            torch=self.torch or settings.torch,
            fixable=self.fixable or settings.fixable,
            unfixable=settings.unfixable + self.unfixable,
            ignore_noqa=self.ignore_noqa,
            min_severity=self.min_severity,
            respect_gitignore=settings.respect_gitignore if self.respect_gitignore is None else self.respect_gitignore,
        )

    def _with_inline(self, settings: Settings, cwd: str) -> Settings:
        if not self.inline:
            return settings
        values, root = dict(self.inline), str(settings.root)
        for field in {"include", "exclude"} & values.keys():
            values[field] = gitignore.rebase(values[field], cwd, root)
        if "per_file_ignores" in values:
            values["per_file_ignores"] = _moved(values["per_file_ignores"], cwd, root)
        if "wrappers" in values:
            values["wrappers"] = tuple((module, os.path.join(cwd, file)) for module, file in values["wrappers"])
        for field in {"cache_dir", "baseline"} & values.keys():
            values[field] = os.path.join(cwd, values[field])
        return replace(settings, **values)


def _moved(
    ignores: tuple[tuple[str, tuple[str, ...]], ...], cwd: str, root: str
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """`per_file_ignores` whose patterns are relative to one folder, relative to another."""
    return tuple((moved, words) for pattern, words in ignores for moved in gitignore.rebase((pattern,), cwd, root))
