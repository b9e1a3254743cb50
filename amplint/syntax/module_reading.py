"""Another file of the project as a module: parsed as far as AMP would notice what it does."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

import libcst as cst

from amplint.python_ast import gate
from amplint.python_ast.imports import import_rows
from amplint.python_ast.module_bindings import Bound, ModuleBindings
from amplint.python_ast.slicing import relevant_rows
from amplint.python_ast.walk import has_long_name, is_too_deep
from amplint.source import Source
from amplint.syntax.bindings import Binding, Bindings, absolute, collect
from amplint.syntax.tree import Tree
from amplint.system import limits
from amplint.system.reading import read_file
from amplint.system.text_encoding import SourceError

if TYPE_CHECKING:
    import ast

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
    b"custom_fwd",
    b"custom_bwd",
    b"optimizer.load_state_dict",
    b"optimizer.state_dict",
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
_HANDS_TO_SAVER = r"save\w*\([^()]*\bopt"
_DEFINES_SAVER = re.compile(_HANDS_TO_SAVER.encode())
"""What gives an optimizer to a function that saves it."""
_HELPER = r"(?<![a-z])(?:amp|ctx)(?![a-z])|(?<!null)context(?!lib|var)"
_DEFINES_HELPER = re.compile(
    rb"^[ \t]*def (?:\w*_)?(?:amp|ctx|context)(?:_\w*)?\((?=[^\0]*\breturn \w+\()", re.MULTILINE
)
"""A module that defines what is called like a context may return one that others make."""
_STEPS = r"[Ss]caler|[Ss]ched|[Oo]ptim"
_MAKES = r"\b[A-Z]\w*Optim\w*\("
_DEFINES_FACTORY = re.compile(rf"^[ \t]*(?:def|class) \w*(?:{_STEPS})\w*[(:]|{_MAKES}".encode(), re.MULTILINE)
"""A module that defines what is called like an optimizer, a schedule or a scaler, or makes an object of a class that is called
like an optimizer, may return an object of a class of another module that steps."""
_DERIVED = re.compile(rb"^class \w+\([ \t]*(?:(\w+)\.(?:\w+\.)*)?(\w+)[ \t]*[,)]", re.MULTILINE)
_IMPORT = re.compile(rb"^(?:from [.\w]+ import (?:\([^)]*\)|[^\n]*)|import [^\n]*)", re.MULTILINE)
_PLAIN = re.compile(
    rb"object|\w*(?:Module|Model|Net|Layer|Block|Loss|Dataset|Sampler|Transform|Config|Error|Exception|Enum|Function|Warning)"
    rb"|nn|ABC|Protocol|NamedTuple|TypedDict|Optimizer|Action|Thread|Process|TestCase|dict|list|str|int|float|tuple|type"
)
"""Of the bases of classes: what no class that drives a training is called."""
_WORDS = (
    r"^backward$", r"^step$", r"^scale$", r"^zero_grad$", r"^clip_grad", r"^grad$", r"LR|Lr[A-Z]|Sched", r"^param_groups$",
    r"^half$", r"^mixed_precision$", r"\.state_dict\(\)", _HANDS_TO_SAVER, r"\bopt\w*\.load_state_dict\(",
    r"add_argument\([^()]*precision", r"save\(\s*self\.\w+\(", _RUNS_STEP, _MAKES,
)  # fmt: skip
"""Besides the words of AMP itself: what a statement of a module is parsed for; the last seven, as running text."""


class Module:
    """One file that others import from, under its dotted name (`pkg.__init__` for a package).

    Most names that are asked for are handed on from another file, or bound by nothing that matters: its tree is made when one
    is that it defines.

    Args:
        name: the dotted name.
        source: the file.
        python: its tree as Python's own parser makes it.
        words: what a statement matters for, besides the words of AMP; None where all statements do.
    """

    def __init__(self, name: str, source: Source, python: ast.Module, words: tuple[str, ...] | None) -> None:
        self.name, self.source = name, source
        self._python, self._words = python, words

    @cached_property
    def _rows(self) -> list[int] | None:
        if self._words is None:
            return None
        try:
            rows = relevant_rows(self.source, self._python, self._words)
        except RecursionError:
            return []
        return import_rows(self._python) if rows == [] else rows

    @cached_property
    def tree(self) -> Tree:
        """The statements that matter; none of a file that LibCST cannot read."""
        try:
            unread = is_too_deep(self._python, self.source.text) or has_long_name(self._python, self.source.text)
            return Tree(self.source, [] if unread else self._rows, self._python)
        except (limits.TextTooLong, cst.ParserSyntaxError, RecursionError):
            return Tree(self.source, [], self._python)

    @cached_property
    def bindings(self) -> Bindings:
        """Where the names of the file are bound."""
        return collect(self.tree, self.name)

    @cached_property
    def _names(self) -> ModuleBindings:
        return ModuleBindings(self._python, self.source.text)

    def _bound(self, name: str) -> list[Bound]:
        """The places where statements that matter bind a name of the file."""
        found = self._names.of(name)
        return [each for each in found if not each.row or self._kept is None or each.row in self._kept]

    @cached_property
    def _kept(self) -> frozenset[int] | None:
        return None if self._rows is None else frozenset(self._rows)

    def passes_over(self, name: str) -> bool:
        """Whether the file binds a name, and in nothing but statements that AMP would not notice.

        Args:
            name: the name.
        """
        return bool(self._names.of(name)) and not self._bound(name)

    @property
    def stars(self) -> list[str]:
        """The modules that it imports with a star."""
        return [absolute(each.imported, self.name).removesuffix("*").removesuffix(".") for each in self._bound("*")]

    def handed_on(self, name: str) -> list[str] | None:
        """What each import that binds a name of the file imports; None where anything else binds it, too."""
        bound = self._bound(name)
        return [absolute(each.imported, self.name) for each in bound] if all(each.imported for each in bound) else None

    def bindings_of(self, name: str) -> list[Binding]:
        """Where a name of the file is bound."""
        return self.bindings.by_scope.get(self.tree.module, {}).get(name, []) if self._bound(name) else []


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
    factory = not telling and b"return " in data and _DEFINES_FACTORY.search(data) is not None
    bases = frozenset[str]() if telling or is_wrapper else _bases_brought(data)
    known = is_wrapper or package or telling or factory or bases or _DEFINES_HELPER.search(data)
    if size > _LARGEST or not known:
        return digest, None
    try:
        source = Source.from_bytes(path, data)
        others = (_HELPER, _STEPS, r"^step$") if factory else (_HELPER,)
        heirs = (rf"^(?:{'|'.join(sorted(bases))})$",) if bases else ()
        words = None if is_wrapper else _WORDS if telling else (*others, *heirs)
        return digest, Module(name, source, gate.parse(source.text), words)
    except (SourceError, SyntaxError, gate.TooDeep, limits.TextTooLong):
        return digest, None


def _bases_brought(data: bytes) -> frozenset[str]:
    """The bases of classes that a module imports, and that may drive a training: its classes hand on what those do."""
    bases = {(home or base, base) for home, base in _DERIVED.findall(data) if not _PLAIN.fullmatch(base)}
    imported = b" ".join(_IMPORT.findall(data)) if bases else b""
    return frozenset(base.decode() for told, base in bases if re.search(rb"\b" + told + rb"\b", imported))


def _tells(data: bytes) -> bool:
    """Whether a module does anything that AMP would notice, as far as its words tell."""
    words = (word for word in _TELLING if word in data)
    if any(word not in _IN_CODE or _IN_CODE[word].search(data) is not None for word in words):
        return True
    return any(each.search(data) is not None for each in (_DEFINES_LOOP, _DEFINES_SAVER))
