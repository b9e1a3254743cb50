"""Facts that a file states to the whole run, with the places that show them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import libcst as cst

from amplint.facts.driving_facts import stated_at, stated_in
from amplint.file import File
from amplint.model.torch.names import GRAD_SCALER


def with_the_place(file: File, facts: Iterable[str], node: cst.CSTNode | None) -> frozenset[str]:
    """What says of facts that a node of a file states them; nothing where the file has no place.

    Args:
        file: the file.
        facts: the facts.
        node: what shows them; None where nothing does.
    """
    place = file.source.place
    if node is None or place is None:
        return frozenset()
    here = f"{os.path.relpath(place.path, place.root)}:{file.range(node).start.row}"
    return frozenset(stated_at(fact, here) for fact in facts)


def stated_nearby(file: File, shown: Iterable[tuple[str, cst.CSTNode]]) -> frozenset[str]:
    """Facts about what steps through scalers, which count for the files that imports connect with this one.

    Args:
        file: the file; one that names no scaler's class states none.
        shown: the facts, each with the node that shows it; looked for only where the file may state any.
    """
    place = file.source.place
    if place is None or not any(file.names.references(GRAD_SCALER)):
        return frozenset()
    return frozenset().union(
        *(with_the_place(file, [fact], node) | {stated_in(fact, str(place.path))} for fact, node in shown)
    )
