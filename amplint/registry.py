"""Finds rules: every rule pack named in the entry-point group `amplint.rules`, every module of such a package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import entry_points
from types import ModuleType

from amplint.rule import Rule

GROUP = "amplint.rules"


class RegistryError(Exception):
    """A rule pack cannot be loaded, or two rules share a code or a name; the message is one line."""


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for info in pkgutil.iter_modules(getattr(package, "__path__", ())):
        if not info.name.startswith("_"):
            yield importlib.import_module(f"{package.__name__}.{info.name}")


def _packs() -> Iterator[tuple[str, ModuleType]]:
    for entry in sorted(set(entry_points(group=GROUP)), key=lambda entry: (entry.name, entry.value)):
        try:
            yield entry.name, entry.load()
        except Exception as error:  # a third party's code: whatever it raises is named, not shown as a traceback
            raise RegistryError(f"rule pack {entry.name!r} cannot be loaded: {error}") from error


@lru_cache(maxsize=1)
def load_rules() -> tuple[Rule, ...]:
    """All installed rules, in the order of their codes.

    Raises:
        RegistryError: no rule pack is installed, one cannot be loaded, or two rules share a code or a name.
    """
    rules: dict[str, Rule] = {}
    names: dict[str, str] = {}
    for pack, package in _packs():
        for module in _modules(package):
            for found in vars(module).values():
                if not isinstance(found, Rule) or found.module != module.__name__:
                    continue
                if found.code in rules or found.name in names:
                    raise RegistryError(f"rule pack {pack!r} defines {found.code} ({found.name}) a second time")
                rules[found.code] = found
                names[found.name] = found.code
    if not rules:
        raise RegistryError("no rules are installed; reinstall amplint")
    return tuple(rules[code] for code in sorted(rules))
