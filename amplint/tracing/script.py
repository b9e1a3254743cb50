"""A program, run in this process as `python SCRIPT` or `python -m MODULE` would run it."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep


class EnoughSeen(BaseException):
    """Ends the program in the middle: what was to be seen has been seen. The message says what that was."""


class NoProgram(Exception):
    """There is nothing to run; the message is one line."""


@dataclass(frozen=True)
class Script:
    """What `python` is told to run: a file, or with `is_module` the name of a module, and the program's own arguments."""

    target: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False

    @property
    def command(self) -> str:
        """What one would type behind `python`."""
        return " ".join([*(["-m"] if self.is_module else []), self.target, *self.arguments])


@dataclass(frozen=True)
class Ending:
    """How a program ended: its exit code, its traceback (empty where there is none), and why it was stopped early."""

    exit_code: int
    traceback: str = ""
    stopped: str = ""


def run_script(script: Script) -> Ending:
    """Run a program to its end; what it prints goes where it always goes.

    Args:
        script: the program.

    Raises:
        NoProgram: there is no such file or module.
    """
    with _as_if_alone(script):
        _require(script)
        try:
            if script.is_module:
                runpy.run_module(script.target, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(script.target, run_name="__main__")
        except EnoughSeen as enough:
            return Ending(0, stopped=str(enough))
        except SystemExit as end:
            return Ending(_code(end))
        except KeyboardInterrupt:
            return Ending(130, stopped="interrupted")
        except BaseException as error:
            return Ending(1, _of_the_program(error))
    return Ending(0)


def _require(script: Script) -> None:
    if not script.is_module and not Path(script.target).is_file():
        raise NoProgram(f"{script.target}: no such file")
    if script.is_module and not _is_module(script.target):
        raise NoProgram(f"{script.target}: no such module")


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


@contextmanager
def _as_if_alone(script: Script) -> Iterator[None]:
    """Arguments and import path as the program expects them; put back at the end."""
    arguments, path = sys.argv, list(sys.path)
    sys.argv = [script.target, *script.arguments]
    sys.path[:0] = [os.getcwd() if script.is_module else os.path.dirname(os.path.realpath(script.target))]
    try:
        yield
    finally:
        sys.argv, sys.path[:] = arguments, path


def _code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)  # as Python does
    return 1


def _of_the_program(error: BaseException) -> str:
    """The traceback from the program's first frame on, as Python would have printed it."""
    trace = error.__traceback__
    while trace is not None and _is_between(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))


def _is_between(file: str) -> bool:
    return file.startswith(_OWN) or "runpy" in file
