"""What AMP's deprecated names come to where nothing is constructed: a type that objects are held against, an import."""

from __future__ import annotations

import importlib
import operator
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import libcst as cst
import torch

from amplint.diagnostics import Diagnostic
from amplint.rule import File
from amplint.runtime.measures.measurement import NONE, Figure, Measurement
from amplint.runtime.training.run_record import NotReplayable

# -- types -------------------------------------------------------------------------------------------------------------


def is_type(file: File, node: cst.CSTNode) -> bool:
    """Whether a class is named as a type: in an annotation, or for objects to be tested against.

    Args:
        file: the file.
        node: where the class is named.
    """
    around = file.tree.enclosing(node, cst.Annotation, cst.Call, cst.Lambda)
    if isinstance(around, cst.Call):
        return around.func is not node and file.names.all_in(around.func, {"builtins.isinstance"})
    return isinstance(around, cst.Annotation)


def typed(before: str, after: str) -> Measurement:
    """Whether objects of the class named before the fix, and of that of `torch.amp`, are of the type that is named.

    Args:
        before: the qualified name before the fix.
        after: the qualified name after it.
    """
    wanted = f"torch.amp.{before.rpartition('.')[2]}"
    old, new = _torch(before), _torch(after)
    given = {name: _torch(name) for name in (wanted, before)}
    return Measurement(
        tuple(
            Figure(f"takes a {name}", _yes(issubclass(made, old)), _yes(issubclass(made, new)), _yes(True))
            for name, made in given.items()
        )
    )


def _torch(name: str) -> Any:
    return operator.attrgetter(name.removeprefix("torch."))(torch)


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


# -- imports -----------------------------------------------------------------------------------------------------------


def imported(before: File, after: File, diagnostic: Diagnostic) -> Measurement:
    """What an import that nothing uses raises once torch has dropped the name: all that a deprecation is a warning of.

    Raises:
        NotReplayable: the diagnostic is about no import.
    """
    name = next((_name(before, each) for each in _imports(before) if before.range(each) == diagnostic.range), "")
    if not name:
        raise NotReplayable("what is constructed is not found again")
    error = _error_without(name)
    is_gone = _imported(after).count(name) < _imported(before).count(name)
    return Measurement((Figure("error where torch has dropped the name", error, NONE if is_gone else error, NONE),))


def _imports(file: File) -> list[cst.ImportAlias | cst.ImportFrom]:
    stars = [each for each in file.tree.find(cst.ImportFrom) if isinstance(each.names, cst.ImportStar)]
    return [*file.tree.find(cst.ImportAlias), *stars]


def _name(file: File, what: cst.ImportAlias | cst.ImportFrom) -> str:
    return file.importer.imported(what)


def _imported(file: File) -> list[str]:
    return [_name(file, each) for each in _imports(file)]


def _error_without(name: str) -> str:
    """What is raised when a name that torch lacks is asked for."""
    module, _, last = name.rpartition(".")
    with _dropped(name):
        try:
            if name in sys.modules:
                importlib.import_module(name)
            else:
                getattr(importlib.import_module(module), last)
        except (ImportError, AttributeError) as error:
            return f"{type(error).__name__}: {str(error).partition(';')[0]}"
    return NONE


@contextmanager
def _dropped(name: str) -> Iterator[None]:
    module, _, last = name.rpartition(".")
    holder = importlib.import_module(module)
    kept, loaded = getattr(holder, last), sys.modules.get(name)
    delattr(holder, last)
    if loaded is not None:
        sys.modules[name] = None  # type: ignore[assignment]  # which is how an import is told that there is none
    try:
        yield
    finally:
        setattr(holder, last, kept)
        if loaded is not None:
            sys.modules[name] = loaded
