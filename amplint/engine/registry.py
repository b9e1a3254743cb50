"""Finds rules: every rule pack named in the entry-point group `amplint.rules`, every module of such a package.

A pack may bring an index of its rules (`_index.json`, written by `scripts/generate.py`), so that what a rule is called, and
which words trigger it, is known without importing the rules, and LibCST with them.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING, Any

from amplint.diagnostics import category
from amplint.model.records import NamedTuple
from amplint.model.rule_options import Option
from amplint.system import installed

if TYPE_CHECKING:
    from amplint.rule import Rule

GROUP = "amplint.rules"
INDEX = "_index.json"


class RegistryError(Exception):
    """A rule pack cannot be loaded, or two share a code, a name or a prefix of codes; the message is one line."""


class RuleInfo(NamedTuple):
    """What is known of a rule without importing it: the fields of `amplint.rule.Rule`, enums by their values.

    `fix` is its best applicability, None when it never has a fix.
    """

    code: str
    name: str
    summary: str
    fix: str | None
    default: bool
    triggers: tuple[str, ...]
    module: str
    severity: str
    confidence: str
    since: str
    entered: str | None = None
    keeps: tuple[str, ...] = ()
    amid: str = ""
    awaits: str = ""
    options: tuple[Option[Any], ...] = ()

    @property
    def category(self) -> str:
        """What the rule is about."""
        return category(self.code)

    @classmethod
    def of(cls, rule: Rule) -> RuleInfo:
        """What there is to know of a rule that is imported."""
        fix = rule.fix.value if rule.fix else None
        module = rule.module.rpartition(".")[2]
        marks = rule.severity.value, rule.confidence.value, rule.since
        return cls(
            rule.code,
            rule.name,
            rule.summary,
            fix,
            rule.default,
            rule.triggers,
            module,
            *marks,
            rule.entered,
            rule.keeps,
            rule.amid,
            rule.awaits,
            rule.options,
        )

    @classmethod
    def read(cls, entry: dict[str, Any]) -> RuleInfo:
        """What an entry of an index says.

        Raises:
            TypeError, KeyError, AttributeError: it is none.
        """
        options = tuple(
            Option(**{name: _frozen(value) for name, value in each.items()}) for each in entry.get("options", ())
        )
        return cls(**{name: _frozen(value) for name, value in entry.items()} | {"options": options})


@lru_cache(maxsize=1)
def load_rules() -> tuple[Rule, ...]:
    """All installed rules, in the order of their codes. Imports LibCST.

    Raises:
        RegistryError: no rule pack is installed, one cannot be loaded, or two share a code, a name or a prefix of codes.
    """
    with installed.Only():
        packs = {pack.__name__: list(_rules(pack)) for pack in _packs()}
    _refuse_collisions({name: list(map(RuleInfo.of, rules)) for name, rules in packs.items()})
    return tuple(sorted(chain.from_iterable(packs.values()), key=lambda rule: rule.code))


@lru_cache(maxsize=1)
def rule_index() -> tuple[RuleInfo, ...]:
    """What is known of all installed rules, in the order of their codes; imports a pack's rules only when it has no index.

    Raises:
        RegistryError: as `load_rules`.
    """
    with installed.Only():
        packs = {pack.__name__: _read_index(pack) or list(map(RuleInfo.of, _rules(pack))) for pack in _packs()}
    _refuse_collisions(packs)
    return tuple(sorted(chain.from_iterable(packs.values())))


def _refuse_collisions(packs: Mapping[str, Sequence[RuleInfo]]) -> None:
    """Raise unless each code, each name, and the letters that the codes of a pack begin with, belong to one rule or pack.

    Args:
        packs: the rules of each pack, by its name.
    """
    taken: dict[str, str] = {}
    owners: dict[str, str] = {}
    for pack, infos in packs.items():
        for info in infos:
            for word in (info.code, info.name):
                other = taken.get(word)
                if other == pack:
                    raise RegistryError(f"rule pack {pack!r} has two rules `{word}`")
                if other is not None:
                    raise RegistryError(f"rule packs {other!r} and {pack!r} both have a rule `{word}`")
                taken[word] = pack
            owner = owners.setdefault(info.code.rstrip("0123456789"), pack)
            if owner != pack:
                raise RegistryError(
                    f"rule packs {owner!r} and {pack!r} share a code prefix: {info.code} needs other letters"
                )
    if not taken:
        raise RegistryError("no rules are installed; reinstall amplint")


def _packs() -> list[ModuleType]:
    return [_import(name, name) for name in pack_names()]


def _import(pack: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:  # perhaps a third party's code: whatever it raises is named, not shown as a traceback
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise RegistryError(f"rule pack {pack!r} cannot be loaded: {message}") from error


def _rules(pack: ModuleType) -> Iterator[Rule]:
    from amplint.rule import Rule  # brings LibCST

    for name in _module_names(pack):
        module = _import(pack.__name__, f"{pack.__name__}.{name}")
        for found in vars(module).values():
            if isinstance(found, Rule) and found.module == module.__name__:
                yield found


def _module_names(pack: ModuleType) -> list[str]:
    files = [file for folder in pack.__path__ for file in os.listdir(folder)]
    return sorted(file.removesuffix(".py") for file in files if file.endswith(".py") and not file.startswith("_"))


def _read_index(pack: ModuleType) -> list[RuleInfo] | None:
    """The index of a pack; None when it has none, or one of other modules than it has now."""
    try:
        with open(os.path.join(pack.__path__[0], INDEX), encoding="utf-8") as file:
            infos = [RuleInfo.read(entry) for entry in json.load(file)]
    except (
        OSError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
    ):  # a stale or broken index costs time, not results
        return None
    return infos if sorted(info.module for info in infos) == _module_names(pack) else None


def _frozen(value: Any) -> Any:
    """A list as the tuple that it was."""
    return tuple(value) if isinstance(value, list) else value


@lru_cache(maxsize=1)
def pack_names() -> tuple[str, ...]:
    """The packages named in the entry-point group by what is installed, sorted.

    Metadata in the current folder names none: it may be that of a repository which somebody else wrote.

    `importlib.metadata` knows them too, but importing it takes longer than everything else in a run over one clean file.
    """
    names: set[str] = set()
    for folder in dict.fromkeys(installed.folders()):
        try:
            entries = [entry for entry in os.listdir(folder) if entry.endswith((".dist-info", ".egg-info"))]
        except OSError:
            continue  # sys.path names folders that do not exist, and zip files
        for entry in entries:
            names.update(_entry_points(os.path.join(folder, entry, "entry_points.txt")))
    return tuple(sorted(names))


def _entry_points(path: str) -> Iterator[str]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return  # most distributions have no entry points
    inside = False
    for line in map(str.strip, text.split("\n")):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and "=" in line and not line.startswith(("#", ";")):
            yield line.partition("=")[2].partition("[")[0].strip()
