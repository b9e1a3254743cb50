"""Finds rules: every rule pack named in the entry-point group `amplint.rules`, every module of such a package.

A pack may bring an index of its rules (`_index.json`, written by `scripts/generate.py`), so that what a rule is called, and
which words trigger it, is known without importing the rules, and LibCST with them.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amplint.rule import Rule

GROUP = "amplint.rules"
INDEX = "_index.json"


class RegistryError(Exception):
    """A rule pack cannot be loaded, or two rules share a code or a name; the message is one line."""


@dataclass(frozen=True, order=True)
class RuleInfo:
    """What is known of a rule without importing it; `fix` is its best applicability, None when it never has a fix."""

    code: str
    name: str
    summary: str
    fix: str | None
    default: bool
    triggers: tuple[str, ...]
    module: str

    @classmethod
    def of(cls, rule: Rule) -> RuleInfo:
        """What there is to know of a rule that is imported."""
        fix = rule.fix.value if rule.fix else None
        module = rule.module.rpartition(".")[2]
        return cls(rule.code, rule.name, rule.summary, fix, rule.default, rule.triggers, module)


def _module_names(package: ModuleType) -> list[str]:
    found = pkgutil.iter_modules(getattr(package, "__path__", ()))
    return sorted(info.name for info in found if not info.name.startswith("_"))


def _packs() -> Iterator[tuple[str, ModuleType]]:
    for entry in sorted(set(entry_points(group=GROUP)), key=lambda entry: (entry.name, entry.value)):
        try:
            yield entry.name, entry.load()
        except Exception as error:  # a third party's code: whatever it raises is named, not shown as a traceback
            raise RegistryError(f"rule pack {entry.name!r} cannot be loaded: {error}") from error


def _rules(pack: str, package: ModuleType) -> Iterator[Rule]:
    from amplint.rule import Rule  # brings LibCST

    for name in _module_names(package):
        try:
            module = importlib.import_module(f"{package.__name__}.{name}")
        except Exception as error:  # as above
            raise RegistryError(f"rule pack {pack!r} cannot be loaded: {name}: {error}") from error
        for found in vars(module).values():
            if isinstance(found, Rule) and found.module == module.__name__:
                yield found


def _read_index(package: ModuleType) -> tuple[RuleInfo, ...] | None:
    """The index of a pack; None when it has none, or one of other modules than it has now."""
    if package.__file__ is None:
        return None
    try:
        entries = json.loads((Path(package.__file__).parent / INDEX).read_text("utf-8"))
    except FileNotFoundError:
        return None
    infos = tuple(RuleInfo(**{**entry, "triggers": tuple(entry["triggers"])}) for entry in entries)
    return infos if sorted(info.module for info in infos) == _module_names(package) else None


def _no_doubles(pack: str, infos: list[RuleInfo]) -> None:
    codes, names = {info.code for info in infos[:-1]}, {info.name for info in infos[:-1]}
    if infos[-1].code in codes or infos[-1].name in names:
        raise RegistryError(f"rule pack {pack!r} defines {infos[-1].code} ({infos[-1].name}) a second time")


@lru_cache(maxsize=1)
def load_rules() -> tuple[Rule, ...]:
    """All installed rules, in the order of their codes. Imports LibCST.

    Raises:
        RegistryError: no rule pack is installed, one cannot be loaded, or two rules share a code or a name.
    """
    rules: list[Rule] = []
    infos: list[RuleInfo] = []
    for pack, package in _packs():
        for rule in _rules(pack, package):
            rules.append(rule)
            infos.append(RuleInfo.of(rule))
            _no_doubles(pack, infos)
    if not rules:
        raise RegistryError("no rules are installed; reinstall amplint")
    return tuple(sorted(rules, key=lambda rule: rule.code))


@lru_cache(maxsize=1)
def rule_index() -> tuple[RuleInfo, ...]:
    """What is known of all installed rules, in the order of their codes; imports a pack's rules only when it has no index.

    Raises:
        RegistryError: as `load_rules`.
    """
    infos: list[RuleInfo] = []
    for pack, package in _packs():
        for info in _read_index(package) or map(RuleInfo.of, _rules(pack, package)):
            infos.append(info)
            _no_doubles(pack, infos)
    if not infos:
        raise RegistryError("no rules are installed; reinstall amplint")
    return tuple(sorted(infos))
