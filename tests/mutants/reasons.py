"""Lists of names, with a reason for each."""

from __future__ import annotations

from pathlib import Path


def reasons(path: Path) -> dict[str, str]:
    """Names, and what a person has said about each.

    Args:
        path: a file with a name a line, ` -> `, and a reason; rows that begin with `#` say what it is.

    Raises:
        ValueError: a line has no reason.
    """
    found = {}
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, reason = line.partition(" -> ")
            if not reason.strip():
                raise ValueError(f"{path.name}: no reason in {line!r}")
            found[name] = reason
    return found
