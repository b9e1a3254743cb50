"""Which document is checked when: soon after the last key, again when what it rests on has changed, never twice as it is."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any

from amplint.server.checks import Checked, ProjectChecks
from amplint.server.documents import OpenDocument, OpenDocuments
from amplint.server.worker import Answer, Worker

_LOGGER = logging.getLogger(__name__)

PAUSE = 0.15
"""Seconds without another key before a document is checked; more where checking it takes longer."""
_LATER = 0.8
"""Seconds until documents are checked again that rest on something that has changed."""


class LiveChecks:
    """Checks what is open.

    Args:
        worker: runs the checks.
        checks: knows how.
        documents: gives what is open.
        tell: is given each answer that is new.
        publish: is given each answer that nobody has asked for.
    """

    def __init__(
        self,
        worker: Worker,
        checks: ProjectChecks,
        documents: Callable[[], OpenDocuments],
        tell: Callable[[Checked], None],
        publish: Callable[[Checked], None],
    ) -> None:
        self._worker = worker
        self._checks = checks
        self._documents = documents
        self._tell = tell
        self._publish = publish
        self._outdated = 0  # how often something changed that checks may rest on which are under way
        self._known: dict[str, Checked] = {}
        self._took: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._one = asyncio.Lock()
        self._under_way = ""
        self._is_wanted = True  # what is under way

    async def current(self, uri: str) -> Checked | None:
        """The report on a document as it is now; None when it is not open."""
        while self._documents().snapshot(uri) is not None:
            # A question that is taken back leaves its answer to the next one.
            checked = await asyncio.shield(self._kept(self._in_turn(uri)))
            if checked is not None:
                return checked
            await asyncio.sleep(PAUSE)  # it has changed meanwhile, and may again
        return None

    async def settled(self, uri: str) -> Checked | None:
        """The same; a text that is new is given a pause first, in which an editor that asks with each key takes that back."""
        snapshot = self._documents().snapshot(uri)
        if snapshot is not None and self._known_of(snapshot) is None:
            await asyncio.sleep(PAUSE)
        return await self.current(uri)

    def _known_of(self, snapshot: OpenDocument) -> Checked | None:
        known = self._known.get(snapshot.uri)
        return known if known is not None and known.snapshot == snapshot else None

    async def _in_turn(self, uri: str) -> Checked | None:
        """The report on a document; None where that changed before there was one, or was closed."""
        async with self._one:
            snapshot = self._documents().snapshot(uri)
            return None if snapshot is None else self._known_of(snapshot) or await self._checked(snapshot)

    async def _checked(self, snapshot: OpenDocument) -> Checked | None:
        documents, uri = self._documents(), snapshot.uri
        roots, held, outdated = documents.roots, list(documents.texts()), self._outdated
        began = time.monotonic()
        self._under_way, self._is_wanted = uri, True
        check = partial(self._checks.check, snapshot, roots, held, lambda: self._is_wanted)
        checked = await asyncio.wrap_future(self._worker.submit(check))
        self._under_way = ""
        if checked is None:
            return None
        self._took[uri] = time.monotonic() - began
        if outdated == self._outdated:
            self._known[uri] = checked
        self._tell(checked)
        return checked

    def changed(self, uri: str) -> None:
        """Somebody types in a document: a check of what it was serves nobody any more."""
        if uri == self._under_way:
            self._is_wanted = False

    def soon(self, uri: str) -> None:
        """Check a document after a pause, and publish the answer, unless it changes meanwhile."""
        self._after(uri, max(PAUSE, min(self._took.get(uri, 0.0), _LATER)))

    def _after(self, uri: str, delay: float) -> None:
        self._cancel(uri)
        self._timers[uri] = asyncio.get_running_loop().call_later(delay, self._start, uri)

    def _cancel(self, uri: str) -> None:
        timer = self._timers.pop(uri, None)
        if timer is not None:
            timer.cancel()

    def _start(self, uri: str) -> None:
        self._timers.pop(uri, None)
        self._kept(self._run(uri))

    def _kept(self, work: Coroutine[Any, Any, Answer]) -> asyncio.Task[Answer]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)  # the loop itself keeps no task alive
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _LOGGER.error("a check failed", exc_info=task.exception())

    async def _run(self, uri: str) -> None:
        checked = await self.current(uri)
        if checked is not None and uri not in self._timers:
            self._publish(checked)

    def resting_on(self, path: str) -> list[str]:
        """The other documents whose reports rest on a file."""
        return [
            uri for uri, known in self._known.items() if path in known.rests_on and path != str(known.snapshot.path)
        ]

    def outdated(self, uris: Iterable[str]) -> None:
        """What is known of documents holds no more, though their texts are the same."""
        self._outdated += 1
        for uri in uris:
            self._known.pop(uri, None)

    def again(self, uris: Iterable[str]) -> None:
        """Check documents once more, when nothing more changes."""
        for uri in uris:
            self._after(uri, _LATER)

    def drop(self, uri: str) -> None:
        """A document is closed."""
        self._cancel(uri)
        self._known.pop(uri, None)
        self._took.pop(uri, None)

    def forget_files(self) -> None:
        """Files may have come or gone: which ones there are is looked up with the next check."""
        self._outdated += 1
        self._worker.submit(self._checks.forget)

    def forget(self) -> None:
        """Settings have changed, or files have: nothing holds that is known."""
        self.forget_files()
        self._known.clear()
