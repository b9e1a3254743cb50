"""Another file of the project as a module: parsed as far as AMP would notice what it does."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

import libcst as cst

from amplint.model.records import frozen
from amplint.python_ast import gate
from amplint.python_ast.imports import import_rows
from amplint.python_ast.slicing import relevant_rows
from amplint.python_ast.walk import has_long_name, is_too_deep
from amplint.source import Source
from amplint.syntax.bindings import Bindings, collect
from amplint.syntax.tree import Tree
from amplint.system import limits
from amplint.system.reading import read_file
from amplint.system.text_encoding import SourceError

_LARGEST = 400_000
"""Bytes; a larger module is data, or generated."""
_TELLING = (
    b"backward",
    b".step(",
    b".scale(",
    b"unscale_",
    b"clip_grad",
    b"GradScaler",
    b"utocast",
    b"zero_grad",
    b".grad",
    b"torch.save",
    b"LRScheduler",
    b"lr_scheduler",
    b"param_groups",
    b".half()",
    b"mixed_precision",
)
"""A module without any of these does nothing that AMP would notice; a package may still hand on what others do."""
_IN_CODE = {
    b"backward": re.compile(rb"[._]backward|backward[_(=]|import[^\n]*backward"),
    b".grad": re.compile(rb"\.grad(?!ient)"),
}
"""How those stand in code that stand in many a text besides: `backward compatible`, `self.gradient_checkpointing`."""
_RUNS_STEP = r"self\.\w*(?:train|run|optimi[sz]e|fit)\w*(?:step|batch|iter\w*|parameters)\("
"""A loop around what a class that is derived from this one may do with AMP."""
_DEFINES_LOOP = re.compile(_RUNS_STEP.encode())
_HELPER = r"(?<![a-z])(?:amp|ctx)(?![a-z])|(?<!null)context(?!lib|var)"
_DEFINES_HELPER = re.compile(
    rb"^[ \t]*def (?:\w*_)?(?:amp|ctx|context)(?:_\w*)?\((?=[^\0]*\breturn \w+\()", re.MULTILINE
)
"""A module that defines what is called like a context may return one that others make."""
_WORDS = (
    r"^backward$", r"^step$", r"^scale$", r"^zero_grad$", r"^clip_grad", r"^grad$", r"LR|Lr[A-Z]|Sched", r"^param_groups$",
    r"^half$", r"^mixed_precision$", r"\.state_dict\(\)", r"save\w*\([^()]*\bopt", r"add_argument\([^()]*precision",
    _RUNS_STEP,
)  # fmt: skip
"""Besides the words of AMP itself: what a statement of a module is parsed for; the last four, as running text."""


@frozen
class Module:
    """One file that others import from, under its dotted name (`pkg.__init__` for a package)."""

    name: str
    tree: Tree
    bindings: Bindings


@lru_cache(maxsize=96)
def read_module(path: str, name: str, is_wrapper: bool, size: int, changed: int) -> tuple[str, Module | None]:
    """The digest of a file's content, and the file as a module; None when it is of no interest, or cannot be read.

    Args:
        path: the file.
        name: its dotted name.
        is_wrapper: whether it stands for a library, and is of interest as a whole.
        size: in bytes.
        changed: when it was changed last; with another size or time it is read again.

    Raises:
        OSError: the file cannot be read.
    """
    data = read_file(path)
    digest = blake2b(data, digest_size=16).hexdigest()
    package = path.endswith("__init__.py")
    telling = _tells(data)
    if size > _LARGEST or not (is_wrapper or package or telling or _DEFINES_HELPER.search(data)):
        return digest, None
    try:
        source = Source.from_bytes(path, data)
        parsed = gate.parse(source.text)
        if is_too_deep(parsed, source.text) or has_long_name(parsed, source.text):
            return digest, None
        rows = None if is_wrapper else relevant_rows(source, parsed, _WORDS if telling else (_HELPER,))
        tree = Tree(source, import_rows(parsed) if rows == [] else rows, parsed)
        return digest, Module(name, tree, collect(tree, name))
    except (SourceError, SyntaxError, gate.TooDeep, limits.TextTooLong, cst.ParserSyntaxError, RecursionError):
        return digest, None


def _tells(data: bytes) -> bool:
    """Whether a module does anything that AMP would notice, as far as its words tell."""
    words = (word for word in _TELLING if word in data)
    if any(word not in _IN_CODE or _IN_CODE[word].search(data) is not None for word in words):
        return True
    return _DEFINES_LOOP.search(data) is not None
