"""Outcomes on disk, a line of JSON each as it is judged: a run that was interrupted goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from hashlib import sha256
from pathlib import Path

from amplint.runtime.verdict import Outcome

from .attempts import Attempt, Progress, outcomes

_KEPT = ("verdict", "reason", "measure", "before", "after")
"""What is kept of an outcome."""


def key_of(attempt: Attempt) -> str:
    """What a record is found by: the name, and both texts, so that no verdict on another text is taken for this one's.

    Args:
        attempt: a repair.
    """
    texts = "\0".join((attempt.repair.before.text, attempt.repair.after.text))
    return f"{attempt.name} {sha256(texts.encode()).hexdigest()[:16]}"


def recorded(path: Path) -> dict[str, Outcome]:
    """The outcomes in a file of records, by their keys; a last line that was cut off is left out.

    Args:
        path: the file, which need not be there.
    """
    found: dict[str, Outcome] = {}
    lines = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
    for line in lines:
        if line.endswith("\n"):
            record = json.loads(line)
            found[record["key"]] = Outcome(**{name: record[name] for name in _KEPT})
    return found


def resumed(
    attempts: Sequence[Attempt], path: Path, jobs: int, progress: Progress | None = None
) -> Generator[tuple[Attempt, Outcome], None, None]:
    """Repairs with what their replays come to, in their order; those on record are not replayed again.

    Args:
        attempts: the repairs.
        path: the file of records, which is added to.
        jobs: the number of processes.
        progress: called with the number of repairs judged, and of all, those on record among them.
    """
    known = recorded(path)
    waiting = [one for one in attempts if key_of(one) not in known]
    done = len(attempts) - len(waiting)

    def tell(judged: int, _: int) -> None:
        if progress is not None:
            progress(done + judged, len(attempts))

    _end_last_line(path)
    with path.open("a", encoding="utf-8") as stream:
        judged = outcomes(waiting, jobs, tell)
        for attempt in attempts:
            key = key_of(attempt)
            if key not in known:
                known[key] = next(judged)
                stream.write(json.dumps({"key": key, **{name: getattr(known[key], name) for name in _KEPT}}) + "\n")
                stream.flush()
            yield attempt, known[key]


def _end_last_line(path: Path) -> None:
    """Take away a last line that was cut off, so that what is added begins a line."""
    text = path.read_text("utf-8") if path.exists() else ""
    if text and not text.endswith("\n"):
        path.write_text(text[: text.rfind("\n") + 1], "utf-8")
