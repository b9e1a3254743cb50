"""Layers that keep half precision from paying: no faster than in float32, or of a size that a rule speaks of."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from amplint.diagnostics import Diagnostic
from amplint.profile.modes import FLOAT32, HALF
from amplint.profile.profile_record import LayerCost, LayerLook, ProfileRecord
from amplint.runtime.device_names import EMULATED

_SHARE = 0.05
"""From this share of a step's time on a layer is worth a line."""
_GAIN = 0.95
"""A layer that takes at least this part of its time in float32 gains nothing."""
_LINES = 8


def costly_layers(record: ProfileRecord, findings: Mapping[tuple[str, int], Diagnostic]) -> list[LayerCost]:
    """The layers of the half precision that was looked at last, the most costly first.

    Args:
        record: the profile.
        findings: what the linter says of the sizes of layers, by file and row.
    """
    looks = {look.mode: look for look in record.looks if look.seconds}
    plain = looks.get(FLOAT32)
    half = next((looks[mode] for mode in reversed(HALF) if mode in looks), None)
    if plain is None or half is None:
        return []
    total, in_float32 = sum(half.seconds.values()), sum(plain.seconds.values())
    found = []
    for module, seconds in half.seconds.items():
        share, before = seconds / total, plain.seconds.get(module, 0.0)
        place = half.made.get(module, "")
        said = findings.get(_row(place)) if module in half.sized else None
        if not module or not before or (said is None and share < _SHARE):
            continue
        ratio = seconds / before if record.device != EMULATED else None
        is_slow = ratio is not None and ratio >= _GAIN and before / in_float32 >= _SHARE / 2
        if said is not None or is_slow:
            why = said.message if said is not None else half.reasons.get(module, "")
            code = said.code if said is not None else ""
            kind = half.kinds.get(module, "")
            found.append(LayerCost(module, kind, place, half.mode, share, ratio, why, code))
    return sorted(found, key=lambda one: -one.share)[:_LINES]


def quieter(one: LayerLook, other: LayerLook) -> LayerLook:
    """Two looks at the same mode as one: what disturbs a measurement makes it longer, so that the shorter times count.

    Args:
        one: the first look.
        other: the second.
    """
    if not (one.seconds and other.seconds):
        return one if one.seconds else other
    both = {name: min(seconds, other.seconds.get(name, seconds)) for name, seconds in one.seconds.items()}
    return replace(one, seconds=both, casts=min(one.casts, other.casts))


def files_of(looks: Sequence[LayerLook]) -> list[str]:
    """The files of the program in which modules were made."""
    return sorted({_row(place)[0] for look in looks for place in look.made.values()})


def _row(place: str) -> tuple[str, int]:
    file, _, line = place.rpartition(":")
    return os.path.realpath(file), int(line) if line.isdigit() else 0
