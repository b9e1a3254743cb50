"""References: the access paths by which a program names objects and values, and the keys of conditions that mention them.

`scaler`, `self.scaler`, `outputs.loss`, `optimizers[*]`. A module's own variables begin with `::`; a name that belongs to a call
begins with what tells this call from others (`#3/loss`). Events carry references as texts; whoever needs to know what a
text means asks `reference` or `condition_key`, which take it apart once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property, lru_cache

from amplint.model import vocabulary
from amplint.model.events import GLOBAL
from amplint.model.records import frozen

ELEMENT = "[*]"
"""How a reference to some element of a collection ends."""

TEMPORARY = "%"
"""How a reference to a value without a name begins."""

SOMETHING = "?"
"""A value that could not be told."""

DIGITS = 5
"""So many has a site that is part of a name."""

_GRADIENT = re.compile(r"(^|[\W_])(grad|gradient)s?(\[[^\]]*\])*$")
_GRADIENT_OPTION = re.compile(
    r"(^|[\W_])(requires?|needs?|no|use|uses|is|has|with|enable|set|zero|compute|retain|accum|num|clip|max)_(grad|gradient)s?$"
)
_ROOT = re.compile(r"[^.\[]*")
_MARKS = re.compile(rf"(#\d+/)*({GLOBAL})?([\w/]+:)?")
"""What a reference may begin with that is no name: marks of calls and of a module, and the module (`::pkg/mod:scaler`)."""
_QUOTED = re.compile("‹([^›]*)›")


def site_text(site: int) -> str:
    """A site as part of a name, so long that names stand in the order of their sites.

    Args:
        site: the number.
    """
    return f"{site:0{DIGITS}}"


@frozen
class Reference:
    """A reference, taken apart."""

    text: str

    @cached_property
    def root(self) -> str:
        """The name that it begins with: `opts` of `opts[0].state`."""
        found = _ROOT.match(self.text)
        return found[0] if found else ""

    @cached_property
    def rest(self) -> str:
        """What follows the root: `[0].state` of `opts[0].state`."""
        return self.text[len(self.root) :]

    @cached_property
    def whole(self) -> str:
        """What it is a part of: `outputs` for `outputs.loss` and for `outputs[0]`; empty for what is no part."""
        return self.text[: max(self.text.rfind("."), self.text.rfind("["), 0)]

    @cached_property
    def wholes(self) -> tuple[str, ...]:
        """Itself, then what it is a part of, then what that is a part of: a part of a value is known by the whole."""
        return (self.text, *reference(self.whole).wholes) if self.text else ()

    @cached_property
    def written(self) -> str:
        """As the author writes it, without the mark of a module or of a call."""
        return _MARKS.sub("", self.text, count=1)

    @cached_property
    def call(self) -> str:
        """What tells the call that it belongs to from others; empty for what belongs to none."""
        return self.text.rpartition("/")[0]

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of its last name."""
        return frozenset(self.text.rpartition(".")[2].removeprefix(GLOBAL).lower().split("_"))

    @cached_property
    def is_gradient(self) -> bool:
        """Whether it is named as gradients are: `x.grad`, `cached_grads[0]`."""
        return _GRADIENT.search(self.text) is not None and _GRADIENT_OPTION.search(self.text) is None

    @cached_property
    def may_be_loss(self) -> bool:
        """Whether it is named as losses are, or not at all; a weight of losses is none."""
        named = vocabulary.LOSS_FACTOR.sub("", self.text)
        return self.text == SOMETHING or vocabulary.MAYBE_LOSS.search(named) is not None

    @property
    def is_temporary(self) -> bool:
        """Whether it stands for a value without a name, which is known in its function alone."""
        return self.text.rpartition("/")[2].startswith(TEMPORARY)

    @property
    def is_element(self) -> bool:
        """Whether it stands for some element of a collection."""
        return self.text.endswith(ELEMENT)

    def includes(self, other: str) -> bool:
        """Whether another reference is the same, or a part of it."""
        return other == self.text or other.startswith(self._openings)

    @cached_property
    def _openings(self) -> tuple[str, str]:
        """What the references to its parts begin with."""
        return f"{self.text}.", f"{self.text}["

    def is_indexed_by(self, other: str) -> bool:
        """Whether it is, or is a part of, the element that another reference is the index of."""
        return f"[{other}]" in self.text


@frozen
class ConditionKey:
    """The key of a condition: its text with every reference in angle quotes (`‹args.amp›`)."""

    text: str

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """The references in it, and what they are parts of."""
        return frozenset(each for name in _QUOTED.findall(self.text) for each in reference(name).wholes)

    @cached_property
    def roots(self) -> frozenset[str]:
        """The names that the references in it begin with."""
        return frozenset(reference(each).root for each in self.mentioned)

    def renamed(self, rename: Callable[[str], str]) -> str:
        """The key with other references in the place of its own."""
        return _QUOTED.sub(lambda found: f"‹{rename(found[1])}›", self.text)


@lru_cache(maxsize=1 << 16)
def reference(text: str) -> Reference:
    """A reference by its text."""
    return Reference(text)


@lru_cache(maxsize=1 << 14)
def condition_key(text: str) -> ConditionKey:
    """The key of a condition by its text."""
    return ConditionKey(text)


def key_of(name: str) -> str:
    """The key of the condition that a reference is true."""
    return f"‹{name}›"


def is_key(text: str) -> bool:
    """Whether a text is the key of a condition, and no reference."""
    return "‹" in text
