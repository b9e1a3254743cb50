"""Values for the parameters of a function of which little is known: found by trial, on small tensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from amplint.model.torch import precision
from amplint.runtime.execution.target import Parameter
from amplint.runtime.numeric.expression import Operand
from amplint.runtime.numeric.operand_kinds import DIMENSION, FREE, GIVEN, INDEX, MASK, SETTING, SIZE
from amplint.runtime.numeric.sweep import Layout, SamplePoint, Sweep, layouts

_BY_NAME = (
    (r"mask|valid|keep", (MASK, GIVEN, FREE)),
    (r"index|indices|idx|ids$|tokens", (INDEX, FREE)),
    (r"target|label|truth|^gt|^y$|^t$|true|actual", (GIVEN, INDEX, FREE)),
    (r"^(alpha|beta|gamma|eps|epsilon|tau|temperature|temp|margin|smoothing|scale|lambda_?|power)$", (SETTING, FREE)),
    (r"^(dim|axis)$", (DIMENSION, SIZE)),
    (r"num|size|classes|width|height|length", (SIZE, FREE)),
)  # fmt: skip
_BY_DTYPE = {precision.INTEGER: (INDEX,), precision.BOOL: (MASK,), precision.FLOAT32: (FREE, GIVEN)}
_MOST_KINDS, _MOST_TRIALS = 64, 600


@dataclass(frozen=True)
class Settled:
    """What each parameter is (`amplint.runtime.numeric.sweep`), by name, and the shapes of the tensors."""

    kinds: Mapping[str, str]
    layout: Layout


def operands(parameters: Sequence[Parameter]) -> list[Operand]:
    """The parameters as operands, one for each."""
    return [Operand(each.text, each.dtype, each.low, each.high, each.detached) for each in parameters]


def settle(parameters: Sequence[Parameter], problem: Callable[[Sequence[Operand], SamplePoint], str]) -> Settled | str:
    """The first kinds and shapes on which the function can be run at all, the likeliest first.

    Args:
        parameters: those that have to be given.
        problem: tries a point, and says what is wrong with it.

    Returns:
        The first problem, where none can be found.
    """
    first = ""
    owners = operands(parameters)
    for settled in islice(_possible(parameters), _MOST_TRIALS):
        wrong = problem(owners, sweep_over(owners, settled, 0).ordinary())
        if not wrong:
            return settled
        first = first or wrong
    return first or "it takes no tensor"


def _possible(parameters: Sequence[Parameter]) -> Iterator[Settled]:
    together = islice(product(*map(_kinds, parameters)), _MOST_KINDS)
    several = [kinds for kinds in together if FREE in kinds]
    for count in (24, 1000):  # the likeliest shapes of all kinds come before rare shapes of any
        for kinds in several:
            seen: set[object] = set()
            for layout in layouts():
                parts = (layout.free, *(part for kind, part in _by_kind(layout) if kind in kinds))
                if len(seen) < count and parts not in seen:
                    seen.add(parts)
                    yield Settled({each.text: kind for each, kind in zip(parameters, kinds)}, layout)


def _by_kind(layout: Layout) -> tuple[tuple[str, object], ...]:
    return (GIVEN, layout.given), (INDEX, layout.index), (MASK, layout.mask)


def _kinds(parameter: Parameter) -> tuple[str, ...]:
    if parameter.dtype in precision.ANY_HALF:
        return (FREE,)
    named = next(
        (kinds for words, kinds in _BY_NAME if re.search(words, parameter.key or parameter.name)), (FREE, GIVEN, INDEX)
    )
    known = _BY_DTYPE.get(parameter.dtype)
    if known is None:
        return named
    return tuple(kind for kind in named if kind in known) or known


def sweep_over(owners: Sequence[Operand], settled: Settled, seed: int) -> Sweep:
    """The points at which the function is run.

    Args:
        owners: the operands.
        settled: what they are.
        seed: of their elements.
    """
    kinds = {owner: settled.kinds[owner.text] for owner in owners}
    return Sweep(kinds, {owner: (owner.low, owner.high) for owner in owners}, settled.layout, seed)
