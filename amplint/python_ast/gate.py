"""The cheap look: may this file matter at all? Bytes settle most files without a parse."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, cast
from weakref import WeakValueDictionary

from amplint.model import libraries
from amplint.system import limits, memory

if TYPE_CHECKING:
    import ast

AMP_WORDS = (r"[Aa]uto_?cast", r"[Ss]caler", r"^unscale_$", r"custom_(?:fwd|bwd)")
"""Every file that uses mixed precision itself holds an identifier in which one of these is found."""


class TooDeep(Exception):
    """The file is nested deeper than Python's own parser goes."""


_LITERALS = (b"utocast", b"uto_cast", b".unscale_")
"""A text that uses AMP holds one of these, or makes something called a scaler, or trains with one that it gets from elsewhere,
or saves the states of what does, or defines passes of its own; looking for literals is many times faster than for a pattern."""


_CONTEXT = (
    r"(?<![a-z])(?:amp|ctx|fp16|half|cast)(?![a-z])|precision|mixed|(?<!null)(?<!app_)(?<!cache_)context(?!lib|var)"
)
CONTEXT_NAME = re.compile(_CONTEXT, re.IGNORECASE)
"""What a context is called that may be a region: of such a name, one that is imported and entered is a word of AMP, too."""
_ENTERED = re.compile(rb"with(?<=\bwith)\b([^\n:]+)")  # letters are found several times faster than a boundary
_DECORATING = re.compile(rb"@([\w.]+)")
_SCALES_LOSS = re.compile(rb"scaler\(\s*\w*loss")
"""How a file hands losses to an object around its scaler: `loss_scaler(loss, optimizer)`."""
_MAKES_SCALER = re.compile(rb"(?<!Standard)(?<!MinMax)(?<!MaxAbs)(?<!Robust)Scaler\w*\(\)")
"""How a file makes an object around a scaler that a class of another file describes: `NativeScaler()`."""
_OWN_ENTERED = re.compile(rb"with (?:[^\n:]*[ (,])?self\.(?:\w+\.)*(\w+)")
_WORD = re.compile(rb"\w+")
_NO_CODE = (b"#", b">>>")
"""What no row of code begins with."""


@lru_cache(maxsize=8)
def pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for several."""
    return re.compile("|".join(words))


_GROUP = re.compile(r"\((?:\?:)?([^()]*)\)[?*]?")


@lru_cache(maxsize=64)
def _literals(trigger: str) -> tuple[bytes, ...]:
    """Literals of which every match of a trigger holds one; an empty one where there are none to be told."""
    plain = re.sub(r"\\.|\[[^]]*\]", " ", trigger)
    while groups := [*_GROUP.finditer(plain)]:
        before, group, after = plain[: groups[-1].start()], groups[-1], plain[groups[-1].end() :]
        # A trigger that begins with a choice holds one of its branches; of other groups nothing is asked.
        is_choice = not before.strip() and group[0][-1] not in "?*" and "|" in group[1] and "|" not in after
        plain = group[1] if is_choice else f"{before} {after}"
    branches = [re.findall(r"[A-Za-z_]+", re.sub(r".[?*{]", " ", branch)) for branch in plain.split("|")]
    return tuple(max(words, key=len, default="").encode() for words in branches)


@lru_cache(maxsize=32)
def _byte_pattern(trigger: str) -> re.Pattern[bytes]:
    """A trigger as a pattern on running text."""
    # In running text an identifier ends at a word boundary, where `^` and `$` of a trigger would look at the whole file.
    bounded = trigger.replace("^", r"\b").replace("$", r"\b")
    # `re` finds letters several times faster than a boundary: it looks for the letters, and then back over them.
    bounded = re.sub(r"^\\b(\w+)(?![?*+{])", r"\1(?<=\\b\1)", bounded)
    return re.compile(bounded.encode())


def may_matter(data: bytes) -> bool:
    """Whether the bytes of a file hold a word of AMP."""
    if _holds_in_code(data, _LITERALS):
        return True
    if b"caler" in data and _holds_in_code(data, (b"GradScaler", b"backward", b".state_dict()")):
        return True
    if b"Scaler" in data and b"torch" in data and _MAKES_SCALER.search(data) is not None:
        return True
    if b"custom_" in data and _holds_in_code(data, (b"custom_fwd", b"custom_bwd")):
        return True
    return bool(libraries.told_in(data) or own_contexts(data)) or (b"backward" in data and _enters_imported(data))


def is_triggered(data: bytes, triggers: Iterable[str]) -> bool:
    """Whether the bytes of a file hold a word that triggers a rule.

    Args:
        data: the content of a file.
        triggers: the patterns of the rules that run (`amplint.rule.Rule`).
    """
    for trigger in triggers:
        if _holds(data, _literals(trigger)) and _byte_pattern(trigger).search(data) is not None:
            return True
    return False


def may_trigger(data: bytes, trigger: str) -> bool:
    """Whether the bytes of a file hold a literal of which every match of a trigger holds one.

    Args:
        data: the content of a file.
        trigger: a pattern of a rule.
    """
    return _holds(data, _literals(trigger))


def own_contexts(data: bytes) -> frozenset[str]:
    """The attributes of `self`, and of objects that it holds, that a text about torch enters, and that may be regions which
    another class has made."""
    words = _OWN_ENTERED.findall(data) if b"torch" in data else ()
    return frozenset(word for word in (each.decode("ascii", "replace") for each in words) if CONTEXT_NAME.search(word))


def propagates(data: bytes) -> bool:
    """Whether a text propagates losses."""
    return b"backward(" in data or _SCALES_LOSS.search(data) is not None


def enters_named_context(data: bytes) -> bool:
    """Whether a text enters a context that it imports, or decorates by one, and that may be a region by its name."""
    return _enters_imported(data) or _is_region(data, _DECORATING.findall(data))


def _enters_imported(data: bytes) -> bool:
    """Whether a text enters a context that it imports, and that may be a region by its name."""
    return _is_region(data, _ENTERED.findall(data))


def _is_region(data: bytes, expressions: Iterable[bytes]) -> bool:
    """Whether a name in one of some expressions is imported, and may be that of a region."""
    words = {word for each in expressions for word in _WORD.findall(each)}
    return any(CONTEXT_NAME.search(word.decode("ascii", "replace")) and _imports(data, word) for word in words)


def _imports(data: bytes, word: bytes) -> bool:
    return re.search(rb"\bimport\b(?:[^\n(]*|[^\n]*\([^)]*)\b%s\b" % word, data) is not None


def _holds(data: bytes, literals: tuple[bytes, ...]) -> bool:
    for literal in literals:
        if literal in data:
            return True
    return False


def _holds_in_code(data: bytes, literals: tuple[bytes, ...]) -> bool:
    """Whether a text holds one of some literals in a row that is not a mere comment, or an example in a docstring."""
    for literal in literals:
        at = data.find(literal)
        while at >= 0:
            row = data[data.rfind(b"\n", 0, at) + 1 : at]
            # Of rows that a carriage return ends, several would look like one.
            if b"\r" in row or not row.lstrip().startswith(_NO_CODE):
                return True
            at = data.find(literal, at + 1)
    return False


_ONLY_AST = 0x400
"""`ast.PyCF_ONLY_AST`; the module `ast` itself would be half of what checking one clean file costs."""


_TREES: WeakValueDictionary[str, ast.Module] = WeakValueDictionary()
"""The trees that somebody still holds, by their texts: a file is read for itself, for those that import it, and for links."""


def parse(text: str) -> ast.Module:
    """The stdlib tree of a file; nobody changes it, for others may hold the same.

    Raises:
        SyntaxError: as Python raises it.
        TooDeep: the nesting exceeds what Python's parser takes.
        TooLong: the parser would take too much memory.
    """
    known = _TREES.get(text)
    if known is None:
        known = _TREES[text] = _parsed(text)
    memory.in_use().keep(memory.Kept.TREES, text, known, len(text))
    return known


def _parsed(text: str) -> ast.Module:
    limits.refuse_long(text, limits.WORDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return cast("ast.Module", compile(text, "<unknown>", "exec", _ONLY_AST, dont_inherit=True))
        except (RecursionError, MemoryError) as error:
            raise TooDeep from error
        except SystemError as error:  # the parser miscounts when it is interrupted
            limits.look()
            raise TooDeep from error
        except SyntaxError as error:
            if "too many" in error.msg:
                raise TooDeep from error
            if (tree := _in_older_words(text)) is not None:
                return tree
            raise


def _in_older_words(text: str) -> ast.Module | None:
    """The tree of a file for a newer Python than the running one, as near as that comes; None where it is none."""
    from amplint.python_ast.newer_syntax import in_older_words  # few files need it

    older = in_older_words(text)
    with suppress(SyntaxError, RecursionError, MemoryError, SystemError):
        if older != text:
            return cast("ast.Module", compile(older, "<unknown>", "exec", _ONLY_AST, dont_inherit=True))
    return None


def is_python(text: str) -> bool:
    """Whether a text is Python, as far as `parse` can tell."""
    try:
        parse(text)
    except (SyntaxError, TooDeep, limits.TextTooLong):
        return False
    return True
