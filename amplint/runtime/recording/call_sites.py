"""Where in the program an observed call stands."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from dataclasses import dataclass
from types import FrameType

import torch
import typing_extensions

_TORCH = os.path.dirname(torch.__file__) + os.sep
_HERE = os.path.join(os.getcwd(), "")
"""The folder in which the program began; it may leave it."""
_OWN = os.path.dirname(os.path.dirname(os.path.dirname(__file__))) + os.sep
# The last two wrap what torch has deprecated.
_BETWEEN = (
    _TORCH,
    _OWN,
    contextlib.__file__,
    warnings.__file__,
    typing_extensions.__file__,
)


@dataclass(frozen=True)
class SourceLine:
    """A line of a file; the line counts from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        """As a person reads it: files below the folder in which the program began, as seen from there."""
        return f"{self.file.removeprefix(_HERE)}:{self.line}"


def is_own(file: str) -> bool:
    """Whether a file is amplint's."""
    return file.startswith(_OWN)


def in_torch(frame: FrameType | None) -> bool:
    """Whether a frame runs torch's own code; frames of amplint that stand in between do not count."""
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename.startswith(_TORCH)


def caller() -> SourceLine | None:
    """The innermost line on this thread's stack that belongs to the program; None in a thread that torch runs by itself."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
        frame = frame.f_back
    return None if frame is None else SourceLine(frame.f_code.co_filename, frame.f_lineno)
