"""What may stand in a configuration file: one table of keys, from which the reader, `amplint config`, the page of the settings
and their JSON schema are made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from amplint.engine.nearest import nearest
from amplint.model.records import NamedTuple

_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})(?:\.\d+)?")
_LAST_OF_1 = 13
"""PyTorch 1.13 was followed by 2.0."""
SEVERITIES = ("error", "warning", "info")
"""From the worst; `amplint.rule.Severity` says what each means."""
OUTPUT_FORMATS = (
    "concise", "full", "grouped", "json", "jsonl", "sarif", "github", "gitlab", "azure", "junit", "pylint", "rdjson", "markdown",
)  # fmt: skip
"""The forms of a report; `amplint.report.FORMATS` says how each is made."""


def torch_version(text: str) -> tuple[int, int]:
    """Major and minor of a version such as "2.4" or "2.4.1".

    Raises:
        ValueError: the text is no such version, or there is no such PyTorch.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not a version such as "2.4"')
    major, minor = int(match[1]), int(match[2])
    if not 1 <= major <= 3 or (major == 1 and minor > _LAST_OF_1):
        raise ValueError(f'there is no PyTorch "{text}"')
    return major, minor


# -- readers: each gives what `Settings` keeps of a value, or raises a ValueError of a message and the keys that lead to the
# -- place inside the value


def _strings(value: Any, *inside: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("must be a list of strings", *inside)
    return tuple(value)


def _rules(value: Any, *inside: str) -> tuple[str, ...]:
    if "" in (words := _strings(value, *inside)):
        raise ValueError("holds an empty string, which names no rule", *inside)
    return words


def _some_rules(value: Any) -> tuple[str, ...]:
    words = _rules(value)
    if not words:
        raise ValueError("names no rule; leave it out for the default set")
    return words


def _table(value: Any, holds: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"must be a table of {holds}")
    return value


def _per_file(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    table = _table(value, 'patterns, each with a list of rules: "tests/**" = ["AMP106"]')
    return tuple((pattern, _rules(selectors, pattern)) for pattern, selectors in table.items())


def _wrappers(value: Any) -> tuple[tuple[str, str], ...]:
    holds = 'modules, each with a file: "library.amp" = "wrappers/library_amp.py"'
    if not all(isinstance(file, str) for file in _table(value, holds).values()):
        raise ValueError(f"must be a table of {holds}")
    return tuple(value.items())


def _severities(value: Any) -> tuple[tuple[str, str], ...]:
    table = _table(value, 'rules, each with a severity: AMP107 = "info"')
    for selector, severity in table.items():
        if severity not in SEVERITIES:
            raise ValueError("must be " + " or ".join(f'"{each}"' for each in SEVERITIES), selector)
    return tuple(table.items())


def _rule_options(value: Any) -> tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]:
    table = _table(value, "rules, each with a table of its options: AMP401 = { multiple = 64 }")
    read = []
    for rule, options in table.items():
        if not isinstance(options, dict):
            raise ValueError("must be a table of the options of the rule", rule)
        values = ((name, tuple(each) if isinstance(each, list) else each) for name, each in options.items())
        read.append((rule, tuple(values)))
    return tuple(read)


def _string(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("must be a string")
    return value


def _output_format(value: Any) -> str:
    if value not in OUTPUT_FORMATS:
        near = nearest(value, [*OUTPUT_FORMATS]) if isinstance(value, str) else ""
        raise ValueError(f"must be one of {', '.join(OUTPUT_FORMATS)}{near}")
    return str(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _torch(value: Any) -> tuple[int, int]:
    if not isinstance(value, str):  # as a number, 2.10 would be 2.1
        raise ValueError('must be a string such as "2.4"')
    return torch_version(value)


# -- the table --------------------------------------------------------------------------------------------------------


class ValueKind(NamedTuple):
    """What the values of some keys have in common: how they are called, read, and described by a JSON schema."""

    name: str
    read: Callable[[Any], Any]
    schema: Mapping[str, Any]


_STRINGS: Mapping[str, Any] = {"type": "array", "items": {"type": "string"}}
_RULES: Mapping[str, Any] = {"type": "array", "items": {"$ref": "#/definitions/rule"}}

FLAG = ValueKind("true or false", _flag, {"type": "boolean"})
RULES = ValueKind("list of rules", _rules, _RULES)
SOME_RULES = ValueKind("list of rules", _some_rules, {**_RULES, "minItems": 1})
PATTERNS = ValueKind("list of patterns", _strings, _STRINGS)
TEXT = ValueKind("string", _string, {"type": "string", "minLength": 1})
FORMAT = ValueKind("output format", _output_format, {"enum": list(OUTPUT_FORMATS)})
VERSION = ValueKind(
    "version", _torch, {"type": "string", "pattern": r"^(1\.([0-9]|1[0-3])|[23]\.[0-9]{1,3})(\.[0-9]+)?$"}
)
PER_FILE = ValueKind("table of patterns", _per_file, {"type": "object", "additionalProperties": _RULES})
FILES = ValueKind("table of modules", _wrappers, {"type": "object", "additionalProperties": {"type": "string"}})
SEVERITY = ValueKind(
    "table of rules", _severities, {"type": "object", "additionalProperties": {"enum": list(SEVERITIES)}}
)
OPTIONS = ValueKind("table of rules", _rule_options, {"$ref": "#/definitions/options"})


class SettingKey(NamedTuple):
    """A key: the field of `Settings` that it fills, the kind of its values, its default and an example as TOML, what it does,
    and whether it decides on what is found in a file, rather than on which files are looked at, and what becomes of findings."""

    name: str
    field: str
    kind: ValueKind
    default: str
    example: str
    doc: str
    finds: bool = True


_DEFAULT_SET = "the rules that are on by default"

KEYS: Mapping[str, SettingKey] = {
    key.name: key
    for key in (
        SettingKey(
            "select", "select", SOME_RULES, _DEFAULT_SET, '["AMP1", "AMP2"]',
            'The rules to run: codes, prefixes, names, or "ALL".',
        ),
        SettingKey("extend-select", "extend_select", RULES, "[]", '["AMP202"]', "Rules to run besides."),
        SettingKey(
            "ignore", "ignore", RULES, "[]", '["scheduler-not-gated"]',
            "Rules to leave out. Where a rule is selected and ignored, the more specific word counts.",
        ),
        SettingKey(
            "per-file-ignores", "per_file_ignores", PER_FILE, "{}", '{ "tests/**" = ["AMP106"] }',
            "Rules to leave out of the files that match a pattern, in the manner of .gitignore; one that begins with `!` "
            "speaks of all other files.",
        ),
        SettingKey(
            "fixable", "fixable", RULES, '["ALL"]', '["AMP2"]',
            "The rules whose fixes may be applied; the findings of others have no fix.",
        ),
        SettingKey("unfixable", "unfixable", RULES, "[]", '["AMP114"]', "Rules whose fixes shall not be applied."),
        SettingKey(
            "severity", "severity", SEVERITY, "what each rule says", '{ AMP107 = "info" }',
            "How bad the defects of a rule are, where the project sees that differently: error, warning or info.",
        ),
        SettingKey(
            "rules", "rules", OPTIONS, "what each rule says", "{ AMP401 = { multiple = 64 } }",
            "The options of single rules; `amplint explain` says which a rule has.",
        ),
        SettingKey(
            "torch-version", "torch", VERSION, "what the dependencies of the project admit, else 2.3", '"2.4"',
            "The oldest PyTorch that the project supports.",
        ),
        SettingKey(
            "wrappers", "wrappers", FILES, "{}", '{ "library.amp" = "wrappers/library_amp.py" }',
            "Modules whose source is not at hand, each with a file, relative to the settings, that says what they do.",
        ),
        SettingKey(
            "include", "include", PATTERNS, '["*.py", "*.ipynb"]', '["src/**/*.py"]',
            "The files that a folder is searched for, in the manner of .gitignore.", False,
        ),
        SettingKey(
            "exclude", "exclude", PATTERNS, "[]", '["third_party/"]',
            "Files and folders to leave out, in the manner of .gitignore, also where they are named; on top of folders "
            "such as .venv and build.", False,
        ),
        SettingKey(
            "respect-gitignore", "respect_gitignore", FLAG, "true", "false",
            "Whether files that git ignores are left out.", False,
        ),
        SettingKey(
            "output-format", "output_format", FORMAT, "full on a terminal, concise elsewhere", '"sarif"',
            "The form of the report, where no option says it.", False,
        ),
        SettingKey(
            "fix", "fix", FLAG, "false", "true",
            "Apply the safe fixes without being asked, if all paths lie below the settings; see `--no-fix`.", False,
        ),
        SettingKey(
            "unsafe-fixes", "unsafe_fixes", FLAG, "false", "true",
            "Count in unsafe fixes; see `--no-unsafe-fixes`.", False,
        ),
        SettingKey(
            "cache-dir", "cache_dir", TEXT, "the user's cache folder", '".cache/amplint"',
            "The folder of the cache, relative to the settings.", False,
        ),
        SettingKey(
            "baseline", "baseline", TEXT, "none", '"amplint-baseline.json"',
            "The file, relative to the settings, of findings that are known: they are neither reported nor fixed.", False,
        ),
    )
}  # fmt: skip
"""The keys, by name."""
