"""Where modules may come from: what is installed, and never the folder that the program happens to stand in.

Whoever lints a cloned repository stands in it, and `python -m` puts that folder first on `sys.path`. This module imports
nothing that Python has not loaded by itself: it does its work before anything else may be imported.
"""

import os
import sys


def folders() -> list[str]:
    """The entries of `sys.path` without the current folder, and without what is named relative to it.

    Only entries before the standard library are in doubt: `-m`, a script and `PYTHONPATH` put them there. Another folder
    that `PYTHONPATH` names by its absolute path is the choice of the user; what stands behind the standard library was put
    there by an installation.
    """
    library = os.path.dirname(os.__file__)
    given = sys.path.index(library) if library in sys.path else len(sys.path)
    relative = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if not os.path.isabs(one)]
    try:
        doubtful = {os.path.realpath(one) for one in (os.curdir, *relative)}
    except OSError:  # the current folder was removed: nothing can be imported from there
        doubtful = set()
    return [
        entry
        for index, entry in enumerate(sys.path)
        if os.path.isabs(entry) and (index >= given or os.path.realpath(entry) not in doubtful)
    ]


class Only:
    """While this context lasts, modules come from `folders` alone: for work inside a program of others, such as flake8."""

    def __enter__(self) -> None:
        self._before = sys.path[:]
        sys.path[:] = folders()

    def __exit__(self, *raised: object) -> None:
        sys.path[:] = self._before
