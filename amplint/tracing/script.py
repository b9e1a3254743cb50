"""A program, run in this process as `python SCRIPT` or `python -m MODULE` would run it."""

from __future__ import annotations

import inspect
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from io import open_code
from pathlib import Path
from types import ModuleType
from typing import Any

from amplint.runtime.device_names import EMULATED

_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep


class EnoughSeen(BaseException):
    """Ends the program in the middle: what was to be seen has been seen. The message says what that was."""


class NoProgram(Exception):
    """There is nothing to run; the message is one line."""


def _once(function: Callable[[], Any]) -> None:
    function()


@dataclass(frozen=True)
class Script:
    """What `python` is told to run.

    Attributes:
        target: a file, or the name of a module.
        arguments: the program's own.
        is_module: whether the target is a module.
        function: what is called once the target has been imported; empty where it is run itself.
        repeat: calls the function as often as is wanted.
    """

    target: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False
    function: str = ""
    repeat: Callable[[Callable[[], Any]], None] = _once

    @property
    def command(self) -> str:
        """What one would type behind `python`."""
        target = f"{self.target}:{self.function}" if self.function else self.target
        return " ".join([*(["-m"] if self.is_module else []), target, *self.arguments])


@dataclass(frozen=True)
class Ending:
    """How a program ended.

    Attributes:
        exit_code: its exit code.
        traceback: empty where there is none.
        error: what it has raised, in one line; empty where there is no traceback.
        stopped: why it was stopped early; empty where it was not.
    """

    exit_code: int
    traceback: str = ""
    error: str = ""
    stopped: str = ""


def in_one_line(error: BaseException) -> str:
    """The class of an exception, and the first line of what it says.

    Args:
        error: the exception.
    """
    return f"{type(error).__name__}: {error}".partition("\n")[0].removesuffix(": ")


def run_script(script: Script) -> Ending:
    """Run a program to its end; what it prints goes where it always goes.

    Args:
        script: the program.

    Raises:
        NoProgram: there is no such file, module or function.
    """
    with _as_if_alone(script):
        try:
            _require(script)
            if script.function:
                script.repeat(_function(script))
            elif script.is_module:
                runpy.run_module(script.target, run_name="__main__", alter_sys=True)
            else:
                _run_file(os.path.join(os.getcwd(), script.target))
        except NoProgram:
            raise
        except EnoughSeen as enough:
            return Ending(0, stopped=str(enough))
        except SystemExit as end:
            return Ending(_code(end))
        except KeyboardInterrupt:
            return Ending(130, stopped="interrupted")
        except BaseException as error:
            return Ending(1, _of_the_program(error), in_one_line(error))
    return Ending(0)


def _run_file(path: str) -> None:
    """Run a file as the program, as Python does: its path is whole, whatever folder the program goes to.

    Raises:
        BaseException: whatever the program raises.
    """
    main = ModuleType("__main__")
    main.__file__, main.__loader__ = path, SourceFileLoader("__main__", path)
    before, sys.modules["__main__"] = sys.modules["__main__"], main
    try:
        with open_code(path) as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        exec(code, vars(main))
    finally:
        sys.modules["__main__"] = before


def _require(script: Script) -> None:
    if not script.is_module and not Path(script.target).is_file():
        raise NoProgram(f"{script.target}: {'is a folder' if Path(script.target).is_dir() else 'no such file'}")
    if script.is_module and not _is_module(script.target):
        raise NoProgram(f"{script.target}: no such module")
    if script.is_module and not script.function and _is_package(script.target):
        raise NoProgram(f"{script.target}: is a package without `__main__`")


def _function(script: Script) -> Callable[[], Any]:
    """The function of an imported program that is to be called."""
    module = import_module(script.target) if script.is_module else _imported(Path(script.target))
    function: Callable[[], Any] | None = getattr(module, script.function, None)
    if function is None or not callable(function):
        raise NoProgram(f"{script.target}: has no function `{script.function}`")
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        raise NoProgram(f"{script.target}: `{script.function}` cannot be called without arguments: {error}") from None
    return function


def _imported(path: Path) -> ModuleType:
    """A file as a module of its own name, whatever else has that name."""
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise NoProgram(f"{path}: is no Python file")
    module = sys.modules[path.stem] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _is_package(name: str) -> bool:
    """Whether a module is a folder that `python -m` finds nothing to run in."""
    spec = find_spec(name)
    return spec is not None and spec.submodule_search_locations is not None and not _is_module(f"{name}.__main__")


def _is_module(name: str) -> bool:
    """Whether there is such a module; what a package of it raises while it is imported is raised."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            return False
        raise
    except ValueError:
        return False


@contextmanager
def _as_if_alone(script: Script) -> Iterator[None]:
    """Arguments and import path as the program expects them; put back at the end, with the folder that it may have left."""
    arguments, path, here = sys.argv, list(sys.path), os.getcwd()
    sys.argv = [script.target, *script.arguments]
    first = os.getcwd() if script.is_module else os.path.dirname(os.path.realpath(script.target))
    sys.path[:0] = [first, *_chosen_folders()]
    try:
        yield
    finally:
        sys.argv, sys.path[:] = arguments, path
        os.chdir(here)


def _chosen_folders() -> list[str]:
    """The folders of `PYTHONPATH`, of which amplint itself leaves out the one that it stands in."""
    given = "" if sys.flags.ignore_environment else os.environ.get("PYTHONPATH", "")
    return [os.path.abspath(one) for one in given.split(os.pathsep)] if given else []


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
    return file.startswith((_OWN, "<frozen importlib")) or "runpy" in file


def on_device(kind: str) -> AbstractContextManager[None]:
    """What a program runs under where its device is not there: then the CPU takes CUDA's place."""
    if kind != EMULATED:
        return nullcontext()
    from amplint.tracing.cuda_scripts import cuda_on_cpu

    return cuda_on_cpu()
