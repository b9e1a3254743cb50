"""What a rule says about a file: diagnostics, and fixes as text edits.

Offsets count characters of the decoded text (`Source.text`), never bytes, and never include a byte order mark.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from amplint.model.records import NamedTuple, frozen

if TYPE_CHECKING:
    from amplint.model.caller_contexts import FromElsewhere, ToOthers

CATEGORIES = {"AMP1": "scaling", "AMP2": "autocast", "AMP3": "numerics", "AMP4": "hardware", "AMP9": "source"}
"""What amplint's rules are about, by the beginning of their codes; "source": the text itself, and comments in it."""


def category(code: str) -> str:
    """What the rule of a code is about; for a code of another pack its letters, in lower case."""
    return CATEGORIES.get(code[:4], code.rstrip("0123456789").lower())


class Applicability(enum.Enum):
    """How much a fix may be trusted; `--fix` applies `SAFE`, `--unsafe-fixes` also `UNSAFE`, nothing applies `DISPLAY`."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"

    @classmethod
    def least(cls, several: Iterable[Applicability]) -> Applicability:
        """The one of several that is trusted least."""
        return max(several, key=tuple(cls).index)


SAFE, UNSAFE, DISPLAY = Applicability


class Position(NamedTuple):
    """A place in a file: 1-based row and column (in characters), and the 0-based offset into the text.

    In a notebook, whose cells are one text, also the 1-based number of the cell, and the row in it.
    """

    row: int
    column: int
    offset: int
    cell: int = 0
    cell_row: int = 0

    def __str__(self) -> str:
        place = f"cell {self.cell}:{self.cell_row}" if self.cell else f"{self.row}"
        return f"{place}:{self.column}"


class Range(NamedTuple):
    """From `start` up to, not including, `end`."""

    start: Position
    end: Position


class Edit(NamedTuple):
    """Replace the characters from offset `start` up to `end` by `replacement`; an insertion has `start == end`."""

    start: int
    end: int
    replacement: str


@frozen
class Fix:
    """One repair: an imperative title, its edits (sorted, not overlapping), and how much it may be trusted."""

    title: str
    edits: tuple[Edit, ...]
    applicability: Applicability = Applicability.SAFE

    def demoted(self, applicability: Applicability) -> Fix:
        """The same fix, trusted at most as far as `applicability`."""
        return replace(self, applicability=Applicability.least((self.applicability, applicability)))

    def is_applied(self, unsafe: bool = True) -> bool:
        """Whether `--fix` applies it; `unsafe` is whether unsafe fixes are asked for as well."""
        return self.applicability is SAFE or unsafe and self.applicability is UNSAFE


@frozen
class NoFix:
    """Why a finding has no fix, in half a sentence that may follow "no fix:". It is false, so that `or` tries another one."""

    reason: str

    def __bool__(self) -> bool:
        return False


class Related(NamedTuple):
    """The other half of a defect ("scaled here"): a second location, in this file when `path` is empty."""

    message: str
    range: Range
    path: str = ""


ALSO = "also here"
"""The message of a related place where the very same defect shows."""
OUTSIDE = "the defect is here, outside of this file"
"""The message of a related place in code that runs what stands in the file: several files may have a part in one defect."""


@frozen
class Diagnostic:
    """One finding.

    `message` is one fact; `note` is the reason; `needs` names facts about the whole run (`Fact`) without which the
    finding does not hold, so that the linter can withdraw it when no file of the run establishes them. `no_fix` says why there
    is no fix, in half a sentence; it is empty beside one. `severity` is what the settings of the project say; empty: what the
    rule says counts.
    """

    code: str
    name: str
    message: str
    range: Range
    note: str = ""
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    needs: frozenset[str] = frozenset()
    path: str = ""
    no_fix: str = ""
    severity: str = ""

    @property
    def places(self) -> tuple[Range, ...]:
        """Every place at which one and the same defect shows, the finding's own first."""
        return (self.range, *(other.range for other in self.related if other.message == ALSO))

    def only_at(self, places: Sequence[Range]) -> Diagnostic:
        """The same finding at some of its places; without a fix, which is for all of them."""
        rest = (other for other in self.related if other.message != ALSO)
        also = (Related(ALSO, place) for place in places[1:])
        reason = self.no_fix or "the fix would change all of its places"
        return replace(self, range=places[0], related=(*rest, *also), fix=None, no_fix=reason)

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """Order of reports: by file, place, code, message."""
        return (self.path, self.range.start.row, self.range.start.column, self.code, self.message)


class Footing(NamedTuple):
    """What an answer about a file rests on besides the file: the digests of other files, by path, and the names that were
    looked for in folders in vain."""

    files: tuple[tuple[str, str], ...] = ()
    absent: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def joined(self, other: Footing) -> Footing:
        """What two answers rest on together."""
        return Footing(*(tuple(sorted({*mine, *others})) for mine, others in zip(self, other)))  # type: ignore[arg-type]


ALONE = "alone"
"""The fact that a file says all about itself: no other file of the run establishes anything for it."""
MIXED_PRECISION = "mixed-precision"
"""What a file says to the whole run that computes in half precision."""
TRAINING = "mixed-precision-training"
"""What a file says besides that scales losses, or propagates some itself: more than inference runs in half precision."""
FLOAT16_TRAINING = "float16-training"
"""What a file says to the whole run that trains under float16 autocast."""
UNSCALES = "unscales-for-others"
"""The fact that a file unscales with a scaler which it does not make, or speaks of unscaling in another way."""
NOBODY_UNSCALES = "nobody-unscales-for-others"
"""What holds as long as no file of a project establishes `UNSCALES`."""


def holding(facts: frozenset[str]) -> frozenset[str]:
    """What files have established, and what holds because none has established the contrary."""
    return facts if UNSCALES in facts else facts | {NOBODY_UNSCALES}


def deciding(needs: frozenset[str]) -> frozenset[str]:
    """The facts that files may establish to decide about needs: for what holds until the contrary is established, that."""
    return (needs - {NOBODY_UNSCALES}) | {UNSCALES} if NOBODY_UNSCALES in needs else needs


class Partly(NamedTuple):
    """A function whose paths were not all told apart: the row of its definition, its name, and what became of the rest."""

    row: int
    function: str
    how: str


@frozen
class FileReport:
    """What linting one file gave: its diagnostics in order, and the one-line reason why it was not checked, or not by all rules.

    `facts` are what this file establishes for the whole run, such as "mixed-precision"; `partly` are its functions of which
    some paths are not known. `gives` is how it enters functions of other files, and what its own give back, `entered` what
    other files say of that, as far as it was known when it was checked. `awaits` is a fact of its project without which it is
    not worth a parse, where it was not parsed for that reason.
    """

    path: str
    diagnostics: tuple[Diagnostic, ...] = ()
    facts: frozenset[str] = frozenset()
    error: str = ""
    footing: Footing = Footing()
    partly: tuple[Partly, ...] = ()
    gives: tuple[ToOthers, ...] = ()
    entered: tuple[FromElsewhere, ...] = ()
    awaits: str = ""
