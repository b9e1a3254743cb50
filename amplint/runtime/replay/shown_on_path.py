"""What a walk along a path shows of losses and gradients, held against what the reference shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from amplint.rule import File
from amplint.runtime.criterion import Observation, Question
from amplint.runtime.measures.measurement import Trio, agree
from amplint.runtime.training.run_record import RunRecord

NEAR = 0.05
"""How far gradients in half may be from those in float32, relative to them."""
READING = "the norm of the gradients that is read"
"""What is observed where the path measures gradients."""


def shown_on_path(trio: Trio, files: tuple[File, File]) -> Iterator[Observation]:
    """Losses that are shown, and norms of gradients that are measured, where both texts do so in the same words.

    Args:
        trio: the records of the runs before, after and in float32.
        files: both texts.
    """
    mine, right = (_by_text(record, files[0]) for record in (trio.before, trio.reference))
    theirs = _by_text(trio.after, files[1])
    for text in mine.keys() & theirs.keys() & right.keys():
        yield from _series(f"the loss that `{text}` shows", mine[text], theirs[text], right[text])
    read = ((trio.before, files[0]), (trio.after, files[1]), (trio.reference, files[0]))
    yield from _series(READING, *(_told_once(record, file) for record, file in read))


def _told_once(record: RunRecord, file: File) -> list[float]:
    """The readings of gradients, but for those that the same words in another place have just told."""
    program = file.analysis.program
    kept: list[tuple[int, float]] = []
    for site, value in zip(record.reading_sites, record.readings):
        last, told = kept[-1] if kept else (site, value)
        words = [program.tree.text(program.places[each]) for each in (last, site)] if last != site else []
        if not words or words[0] != words[1] or not agree(value, told, 0.0):
            kept.append((site, value))
    return [value for _, value in kept]


def _by_text(record: RunRecord, file: File) -> dict[str, list[float]]:
    program = file.analysis.program
    return {program.tree.text(program.places[site]): values for site, values in record.reported.items()}


def _series(
    what: str, before: Sequence[float], after: Sequence[float], right: Sequence[float]
) -> Iterator[Observation]:
    for turn, value in enumerate(right):
        mine, theirs = (each[turn] if turn < len(each) else None for each in (before, after))
        first, second = (each is not None and agree(each, value, NEAR) for each in (mine, theirs))
        is_same = mine is not None and theirs is not None and agree(theirs, mine, NEAR)
        if first or second or not is_same:  # else it is left alone
            yield Observation(Question.MEANT, what, first, second or is_same, f"time {turn + 1}", same=False)
