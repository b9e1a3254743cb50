"""Warnings of a traced program name the line that they would name without a trace."""

from __future__ import annotations

import linecache
import sys
import warnings
from types import FrameType
from typing import Any

from amplint.runtime.recording.call_sites import is_own
from amplint.runtime.recording.patches import Patches


def keep_places(patches: Patches) -> None:
    """Show a warning that would name a watch at the line that has called it.

    Args:
        patches: takes it back.
    """
    show = getattr(warnings, "_showwarnmsg", None)  # whatever Python or the program do with a warning, they do in there
    if show is None:
        return

    def shown(message: Any) -> None:
        if is_own(message.filename):
            _put_outside(message, sys._getframe(1))
        show(message)

    patches.attribute(warnings, "_showwarnmsg", shown)


def _put_outside(message: Any, frame: FrameType | None) -> None:
    """Give a warning the next place on the stack that is not amplint's."""
    while frame is not None and (frame.f_code.co_filename, frame.f_lineno) != (message.filename, message.lineno):
        frame = frame.f_back
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is not None:
        message.filename, message.lineno = frame.f_code.co_filename, frame.f_lineno
        message.line = linecache.getline(message.filename, message.lineno, frame.f_globals) or None
