"""Failures on disk: the input as small as it becomes, and beside it what is wrong and how it came about."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from pathlib import Path

from .batches import BATCH_ORACLES, examine_batch
from .cases import Case
from .oracles import Failure, examine
from .shrink import smallest

KEPT = 2
"""Inputs that are kept for one oracle and key."""
SECONDS = 90
"""The time that making one input smaller may take."""


def keep(folder: Path, case: Case, failure: Failure, origin: dict[str, object]) -> Path | None:
    """Make the input of a failure smaller and write it down, unless enough like it are there."""
    name = re.sub(r"\W+", "-", f"{failure.oracle} {failure.key}").strip("-").lower()[:80]
    folder.mkdir(parents=True, exist_ok=True)
    if len(list(folder.glob(f"{name}.*.json"))) >= KEPT:
        return None
    (folder / f"{name}.{_digest(case.data)}.json").write_text("{}")  # other processes see that it is being worked on
    reduced = smallest(case, lambda smaller: fails_so(smaller, failure), SECONDS)
    (folder / f"{name}.{_digest(case.data)}.json").unlink()
    path = folder / f"{name}.{_digest(reduced.data)}{'.ipynb' if case.is_notebook else '.py'}"
    path.write_bytes(reduced.data)
    about = {
        "oracle": failure.oracle,
        "key": failure.key,
        "detail": failure.detail,
        "mutators": case.mutators,
        **origin,
    }
    path.with_suffix(".json").write_text(json.dumps(about, indent=1), encoding="utf-8")
    return path


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:8]


def fails_so(case: Case, failure: Failure) -> bool:
    """Whether an input shows a failure, with no other rules than it had."""
    if failure.oracle in BATCH_ORACLES:
        found = [each for _, each in examine_batch([case])]
    else:
        found = examine(case)[1]
    return any(each.oracle == failure.oracle and _words(each.key) <= _words(failure.key) for each in found)


def _words(key: str) -> set[str]:
    return set(key.replace(",", " ").split())
