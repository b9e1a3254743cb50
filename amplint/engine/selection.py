"""Which rules run on a file: selectors are codes (`AMP101`), prefixes (`AMP1`), names (`clip-before-unscale`) and `ALL`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amplint.engine.config import ConfigError, Settings
from amplint.engine.nearest import nearest
from amplint.engine.registry import RuleInfo, rule_index

if TYPE_CHECKING:
    from typing import Protocol

    from amplint.model.rule_options import Option

    class Selectable(Protocol):
        """What a selector looks at: `amplint.rule.Rule` and `amplint.engine.registry.RuleInfo` both will do."""

        @property
        def code(self) -> str: ...
        @property
        def name(self) -> str: ...
        @property
        def default(self) -> bool: ...
        @property
        def options(self) -> tuple[Option[Any], ...]: ...


ALL = "ALL"
SYNTAX_ERROR, UNUSED_SUPPRESSION, UNKNOWN_SUPPRESSION = "AMP900", "AMP901", "AMP902"

_OWN = (True, (), "", "error", "high", "0.1.0")
ENGINE_RULES = (
    RuleInfo(SYNTAX_ERROR, "syntax-error", "The file is no valid Python", None, *_OWN),
    RuleInfo(UNUSED_SUPPRESSION, "unused-suppression", "A comment suppresses nothing", "safe", *_OWN)._replace(
        severity="info"
    ),
    RuleInfo(UNKNOWN_SUPPRESSION, "unknown-suppression", "A suppression names no rule", None, *_OWN)._replace(
        severity="warning"
    ),
)
"""What the engine itself reports; selected, ignored and suppressed like any rule."""


@lru_cache(maxsize=1)
def all_rules() -> dict[str, RuleInfo]:
    """What is known of each rule, by its code: the installed ones in the order of their codes, then the engine's own.

    Raises:
        RegistryError: as `rule_index`.
    """
    return {info.code: info for info in (*rule_index(), *ENGINE_RULES)}


_PREFIX = re.compile(r"[A-Z]+\d*", re.IGNORECASE)
_LISTED = "; `amplint rules` lists them"
_FULL = 100  # more specific than any prefix


def names(rules: Iterable[Selectable]) -> dict[str, str]:
    """The name of each code, those of the engine included."""
    return {rule.code: rule.name for rule in (*rules, *ENGINE_RULES)}


def select(selector: str, known: Mapping[str, str]) -> frozenset[str]:
    """The codes that a selector stands for; none when it is unknown.

    Args:
        selector: a code, a prefix of codes, a name, or `ALL`, in upper or lower case.
        known: the name of each code.
    """
    word = selector.upper()
    if word == ALL:
        return frozenset(known)
    if word in known:
        return frozenset((word,))
    if _PREFIX.fullmatch(word):
        letters = word.rstrip("0123456789")
        return frozenset(code for code in known if code.startswith(word) and code.rstrip("0123456789") == letters)
    return frozenset(code for code, name in known.items() if name == selector.lower())


def unknown_rule(selectors: Iterable[str], known: Mapping[str, str]) -> str:
    """What is wrong with the first selector that stands for no rule; empty when all do.

    Args:
        selectors: as the user wrote them.
        known: the name of each code.
    """
    for selector in selectors:
        if not select(selector, known):
            near = nearest(selector, [*known, *known.values(), ALL])
            return f"unknown rule `{selector}`{near or _LISTED}"
    return ""


def _check(settings: Settings, rules: tuple[Selectable, ...], known: Mapping[str, str]) -> None:
    """Raise for what settings say of rules that do not exist, or of options that they do not have."""
    for key, selectors in (
        ("select", settings.select),
        ("extend-select", settings.extend_select),
        ("ignore", settings.ignore),
        ("per-file-ignores", [word for _, words in settings.per_file_ignores for word in words]),
        ("fixable", settings.fixable),
        ("unfixable", settings.unfixable),
        ("severity", [selector for selector, _ in settings.severity]),
        ("rules", [selector for selector, _ in settings.rules]),
    ):
        if problem := unknown_rule(selectors, known):
            raise ConfigError(f"{settings.place(key)}: {problem}")
    rule_options(settings, rules)


def _specificity(selector: str, known: Mapping[str, str]) -> int:
    if selector.upper() == ALL:
        return 0
    return len(selector) if selector.upper() not in known and _PREFIX.fullmatch(selector) else _FULL


@lru_cache(maxsize=64)
def _selected(settings: Settings, rules: tuple[Selectable, ...]) -> frozenset[str]:
    known = names(rules)
    _check(settings, rules, known)
    if settings.select:
        active = {SYNTAX_ERROR}  # a file that cannot be read is never clean; only naming it in `ignore` silences it
    else:
        active = {rule.code for rule in (*rules, *ENGINE_RULES) if rule.default}
    enabling, disabling = (*settings.select, *settings.extend_select), settings.ignore
    for level in sorted({_specificity(selector, known) for selector in (*enabling, *disabling)}):
        for selector in enabling:
            if _specificity(selector, known) == level:
                active |= select(selector, known)
        for selector in disabling:
            if _specificity(selector, known) == level:
                active -= select(selector, known)
    return frozenset(active)


def active_codes(settings: Settings, path: Path, rules: Sequence[Selectable]) -> frozenset[str]:
    """The codes that are reported for a file, those of the engine among them.

    Selectors are applied from the least specific to the most specific, `ignore` after `select` where they are equal;
    what `per_file_ignores` has for the file is taken away last.

    Args:
        settings: those that hold for the file.
        path: its absolute path.
        rules: all that there are.

    Raises:
        ConfigError: a selector stands for no rule, or a pattern is none.
    """
    active = _selected(settings, tuple(rules))
    if not settings.per_file_ignores:
        return active
    known = names(rules)
    return active.difference(*(select(selector, known) for selector in settings.ignored_in(str(path))))


def rules_named(selectors: Iterable[str], known: Mapping[str, str]) -> frozenset[str]:
    """The codes that any of some selectors stands for.

    Args:
        selectors: as the user wrote them.
        known: the name of each code.
    """
    return frozenset[str]().union(*(select(selector, known) for selector in selectors))


@lru_cache(maxsize=64)
def fixable_codes(settings: Settings, rules: tuple[Selectable, ...]) -> frozenset[str]:
    """The codes whose fixes may be applied.

    Args:
        settings: those that hold for a file.
        rules: all that there are.
    """
    known = names(rules)
    return rules_named(settings.fixable, known) - rules_named(settings.unfixable, known)


@lru_cache(maxsize=64)
def severities(settings: Settings, rules: tuple[Selectable, ...]) -> Mapping[str, str]:
    """The severity of each code to which the settings give one; of several words on a code the most specific counts.

    Args:
        settings: those that hold for a file.
        rules: all that there are.
    """
    known = names(rules)
    ordered = sorted(settings.severity, key=lambda entry: _specificity(entry[0], known))
    return {code: severity for selector, severity in ordered for code in select(selector, known)}


@lru_cache(maxsize=64)
def rule_options(settings: Settings, rules: tuple[Selectable, ...]) -> tuple[tuple[tuple[str, str], Any], ...]:
    """The options of rules that the settings choose, by code and name.

    Args:
        settings: those that hold for a file.
        rules: all that there are.

    Raises:
        ConfigError: there is no such option, or it takes no such value.
    """
    chosen: list[tuple[tuple[str, str], Any]] = []
    for selector, values in settings.rules:
        found = [rule for rule in rules if selector.lower() in (rule.code.lower(), rule.name)]
        options = {option.name: option for rule in found for option in rule.options}
        for name, value in values:
            place = partial(settings.place, "rules", selector, name)
            if name not in options:
                there = nearest(name, list(options)) or f"; it has {' and '.join(options) or 'none'}"
                raise ConfigError(f"{place()}: `{selector}` has no such option{there}")
            chosen.append(((options[name].code, name), _option_value(options[name], value, place)))
    return tuple(chosen)


def _option_value(option: Option[Any], value: Any, place: Callable[[], str]) -> Any:
    if isinstance(option.default, int):
        if type(value) is not int or value < 1:
            raise ConfigError(f"{place()} must be a whole number above 0")
    elif not isinstance(value, tuple) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"{place()} must be a list of strings")
    return value
