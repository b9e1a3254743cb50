"""The caches of one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from amplint.engine.config import Settings
from amplint.system.reading import explained

if TYPE_CHECKING:
    from amplint.engine.cache import Cache


class RunCaches:
    """The caches of a run, one for each settings, opened when first asked for.

    Args:
        folder: where the user wants them; None leaves it to `amplint.engine.cache_storage`.
        disabled: whether there are none.
    """

    def __init__(self, folder: Path | None, disabled: bool) -> None:
        self._folder = folder
        self._disabled = disabled
        self._open: dict[Settings, Cache | None] = {}
        self._problems: list[str] = []

    def of(self, settings: Settings) -> Cache | None:
        """The cache of the files that have these settings; None where nothing can be kept."""
        if self._disabled:
            return None
        if settings not in self._open:
            from amplint.engine.cache import Cache

            try:
                self._open[settings] = Cache(settings, self._folder)
            except OSError as error:
                self._open[settings] = None
                self._problems.append(_nothing_cached(error))
        return self._open[settings]

    def save(self) -> list[str]:
        """Write what is new; says why that failed, where it did."""
        for cache in filter(None, self._open.values()):
            try:
                cache.save()
            except OSError as error:
                self._problems.append(_nothing_cached(error))
        return list(dict.fromkeys(self._problems))


def _nothing_cached(error: OSError) -> str:
    return f"Nothing was cached: {explained(error)}"
