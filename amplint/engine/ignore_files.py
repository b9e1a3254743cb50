"""The `.gitignore` files of the folders that are walked, read as git reads them."""

from __future__ import annotations

import errno
import os

from amplint.engine import gitignore
from amplint.system.reading import SETTINGS_LIMIT, read_file

Ignores = tuple[tuple[str, tuple[str, ...]], ...]
"""The patterns of `.gitignore` files that hold in a folder, the nearest file last, each with the folder it lies in."""


class IgnoreFiles:
    """Reads ignore files; `passed` is what it passed over, each with the reason in one line."""

    def __init__(self) -> None:
        self.passed: list[tuple[str, str]] = []

    def inside(self, folder: str) -> Ignores:
        """What the ignore file of a folder says, if it has one."""
        path = os.path.join(folder, ".gitignore")
        try:
            text = read_file(path, SETTINGS_LIMIT).decode("utf-8-sig", "replace")
        except FileNotFoundError:
            return ()
        except OSError as error:  # git, too, goes on without an ignore file it cannot read
            return self._pass(path, f"{reason(error)}; nothing is ignored for it")
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        if len(lines) > gitignore.MOST:
            return self._pass(path, f"holds more than {gitignore.MOST:,} lines; nothing is ignored for it")
        for number, line in enumerate(lines, 1):
            if len(line) > gitignore.LONGEST and not line.startswith("#"):
                self._pass(
                    path, f"the pattern in line {number} is longer than {gitignore.LONGEST} characters, and passed over"
                )
        return ((folder, tuple(filter(_is_pattern, lines))),)

    def _pass(self, path: str, why: str) -> Ignores:
        self.passed.append((path, why))
        return ()

    def above(self, folder: str) -> Ignores:
        """The ignore files above a folder, up to the top of its git repository; none when it lies in no repository."""
        above: list[str] = []
        current = folder
        while not os.path.exists(os.path.join(current, ".git")):
            current, child = os.path.dirname(current), current
            if current == child:
                return ()
            above.append(current)
        return tuple(found for parent in reversed(above) for found in self.inside(parent))


def reason(error: OSError) -> str:
    """Why a place cannot be looked at, in one line."""
    if error.errno == errno.ELOOP:
        return "is a loop of symbolic links"
    return f"cannot be read: {error.strerror or error}"


def _is_pattern(line: str) -> bool:
    try:
        return gitignore.parse_pattern(line) is not None
    except ValueError:  # to git, too, it matches nothing
        return False


def is_ignored_by(path: str, ignores: Ignores, folder: bool) -> bool:
    """Whether git ignores a path.

    Args:
        path: absolute.
        ignores: the patterns that hold there.
        folder: whether the path is one.
    """
    for root, lines in reversed(ignores):
        verdict = gitignore.is_ignored(lines, root, path, folder)
        if verdict is not None:
            return verdict
    return False
