"""The cheap look: may this file matter at all, and which of its top-level statements?

Bytes settle most files without a parse; stdlib `ast`, several times cheaper than LibCST, settles the statements.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache

from amplint.source import Source

AMP_WORDS = (r"[Aa]uto_?cast", r"[Ss]caler", r"unscale_", r"(?<![a-z])amp(?![a-z])", r"custom_(?:fwd|bwd)")
"""Every file that uses mixed precision holds an identifier in which one of these is found."""

_PROTOCOL_WORDS = (
    r"^backward$", r"^step$", r"^zero_grad$", r"^clip_grad", r"^get_total_norm$", r"^clip_grads_with_norm_$", r"^grad$",
    r"^b?float16$", r"^half$", r"optim", r"sched", r"^nullcontext$", r"^ExitStack$", r"^parameters$",
)  # fmt: skip
"""Identifiers that say more about AMP code that stands elsewhere in the file."""


class TooDeep(Exception):
    """The file is nested deeper than Python's own parser goes."""


@lru_cache(maxsize=8)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(words))


@lru_cache(maxsize=8)
def _byte_pattern(words: tuple[str, ...]) -> re.Pattern[bytes]:
    # In running text an identifier ends at a word boundary, where `^` and `$` of a trigger would look at the whole file.
    loose = (word.replace("^", r"\b").replace("$", r"\b") for word in words)
    return re.compile("|".join(loose).encode())


def may_matter(data: bytes, triggers: Iterable[str] = ()) -> bool:
    """Whether the bytes of a file hold a word of AMP, or one that triggers a rule."""
    return _byte_pattern((*AMP_WORDS, *sorted(set(triggers)))).search(data) is not None


def parse(text: str) -> ast.Module:
    """The stdlib tree of a file.

    Raises:
        SyntaxError: as Python raises it.
        TooDeep: the nesting exceeds what Python's parser takes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (RecursionError, MemoryError) as error:
            raise TooDeep from error
        except SyntaxError as error:
            if "too many" in error.msg:
                raise TooDeep from error
            raise


def _identifiers(node: ast.AST) -> Iterator[str]:
    for below in ast.walk(node):
        if isinstance(below, ast.Name):
            yield below.id
        elif isinstance(below, ast.Attribute):
            yield below.attr
        elif isinstance(below, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield below.name
        elif isinstance(below, ast.alias):
            yield from below.name.split(".")
        elif isinstance(below, ast.arg | ast.keyword) and below.arg:
            yield below.arg
        elif isinstance(below, ast.ImportFrom) and below.module:
            yield from below.module.split(".")


_ALWAYS = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.If, ast.Try, ast.With)


def relevant_rows(source: Source, module: ast.Module, triggers: Iterable[str] = ()) -> list[int] | None:
    """The rows of the top-level statements that matter, ascending; empty when none does, None when all do.

    A statement matters when it holds an identifier of AMP or of a rule; then the short statements that bind names (imports,
    assignments), the statements of the protocol, and the functions and classes that a kept statement names matter too.
    """
    triggers = sorted(set(triggers))
    words = [frozenset(_identifiers(statement)) for statement in module.body]
    amp = _pattern((*AMP_WORDS, *(trigger for trigger in triggers if not _is_text(trigger))))
    marked = _rows_of(source, tuple(trigger for trigger in triggers if _is_text(trigger)))
    if not marked and not any(amp.search(word) for names in words for word in names):
        return []
    protocol = _pattern(_PROTOCOL_WORDS)
    aliases = frozenset(_aliases(module, amp))
    keep = [
        isinstance(statement, _ALWAYS)
        or any(amp.search(word) or protocol.search(word) or word in aliases for word in names)
        or any(statement.lineno <= row <= (statement.end_lineno or 0) for row in marked)
        for statement, names in zip(module.body, words)
    ]
    _follow_names(module, words, keep)
    rows: set[int] = set()
    for statement, kept in zip(module.body, keep):
        if kept:
            first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
            rows.update(range(first, (statement.end_lineno or statement.lineno) + 1))
    return None if len(rows) == len(source.line_starts) else sorted(rows)


def _is_text(trigger: str) -> bool:
    """Whether a trigger is looked for in running text: no identifier holds a parenthesis."""
    return r"\(" in trigger


def _rows_of(source: Source, triggers: tuple[str, ...]) -> list[int]:
    if not triggers:
        return []
    return [source.position(match.start()).row for match in _pattern(triggers).finditer(source.text)]


def _aliases(module: ast.Module, amp: re.Pattern[str]) -> Iterator[str]:
    """The other names that the file gives to what is called by a word of AMP: `autocast as half`, `half = autocast`."""
    for statement in module.body:
        if isinstance(statement, _ALWAYS):
            for node in ast.walk(statement):
                if isinstance(node, ast.alias) and node.asname and amp.search(node.name):
                    yield node.asname
                elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute)):
                    if any(amp.search(word) for word in _identifiers(node.value)):
                        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _follow_names(module: ast.Module, words: list[frozenset[str]], keep: list[bool]) -> None:
    definitions = {
        statement.name: index
        for index, statement in enumerate(module.body)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    }
    waiting = [index for index, kept in enumerate(keep) if kept]
    while waiting:
        for name in words[waiting.pop()] & definitions.keys():
            index = definitions[name]
            if not keep[index]:
                keep[index] = True
                waiting.append(index)
