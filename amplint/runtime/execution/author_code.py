"""The author's function, imported and called: under AMP on a device, or with everything in one precision."""

from __future__ import annotations

import copy
import importlib
import importlib.abc
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

import torch

from amplint.runtime.devices import CUDA
from amplint.runtime.execution.call_ways import CallWay
from amplint.runtime.execution.target import Parameter
from amplint.runtime.numeric.answer import Evaluation, whole
from amplint.runtime.numeric.compute import floating
from amplint.runtime.numeric.expression import Operand
from amplint.runtime.numeric.operand_kinds import FREE
from amplint.runtime.numeric.sweep import SamplePoint, dtype_of

_INSTALLED = (*torch.__path__, os.path.dirname(os.__file__), "<")
"""Where what is no code of the project lies."""
_SETTINGS: tuple[tuple[str, str, Any], ...] = (
    ("bool", r"^(use|with|is|has)_|^bias$|^affine$", False),
    ("float", r"drop|prob|rate|ratio|^p$|alpha|beta|gamma|tau|temp|eps|margin|smooth|weight|lambda|scale", 0.5),
    ("int", r"", 8),
)
"""What the constructor of a module is given, by the annotation of a parameter or else its name: 8 divides by what sizes do."""


class CallResult(NamedTuple):
    """What a call came to: value and gradients; the dtypes of these; and, of an error, in which row of the file it was raised.

    The row is 0 where it was raised in another file of the project.
    """

    answer: Evaluation
    dtypes: list[torch.dtype]
    row: int = 0


class CannotCall(Exception):
    """The author's code cannot be called; the message says why, in one line."""


class _Text(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module: with the text given, as the file that it is from."""

    def __init__(self, name: str, file: str, text: str) -> None:
        self._name, self._file, self._text = name, file, text

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        """The module's specification, or nothing for another one."""
        return (
            importlib.util.spec_from_file_location(fullname, self._file, loader=self)
            if fullname == self._name
            else None
        )

    def exec_module(self, module: ModuleType) -> None:
        """Run the text."""
        exec(compile(self._text, self._file, "exec", dont_inherit=True), module.__dict__)


def import_text(name: str, file: str, text: str) -> ModuleType:
    """Import a module of the project, and what it imports from there.

    Args:
        name: its name, with those of its packages.
        file: where the copy of it lies.
        text: what it is to consist of.
    """
    sys.argv[:] = [file]
    sys.meta_path.insert(0, _Text(name, file, text))
    return importlib.import_module(name)


class AuthorFunction:
    """A function of the author's, or the method of an object that is made for it.

    Args:
        module: the module.
        name: the function's name in it, with that of its class.
        parameters: those that it is to be given.
        seed: of the weights of a module.
    """

    def __init__(self, module: ModuleType, name: str, parameters: Sequence[Parameter], seed: int) -> None:
        self.parameters = parameters
        owner, _, method = name.rpartition(".")
        self._module, self._method = module, method
        self.assumed: list[str] = []
        """What its object was made with, in words."""
        torch.manual_seed(seed)
        self._object = self._made(getattr(module, owner)) if owner else None
        self._seed = seed

    def _made(self, cls: Callable[..., Any]) -> Any:
        try:
            parameters = inspect.signature(cls).parameters.values()
        except (TypeError, ValueError) as error:
            raise CannotCall(f"how to make a `{cls.__name__}` is not known") from error
        plain = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        wanted = [one for one in parameters if one.default is inspect.Parameter.empty and one.kind in plain]
        settings = {one.name: _setting(one) for one in wanted}
        self.assumed += [f"`{name}` of `{cls.__name__}` is {value}" for name, value in settings.items()]
        made = cls(**settings)
        for each in made.modules() if isinstance(made, torch.nn.Module) else ():
            if isinstance(each, torch.nn.modules.dropout._DropoutNd):
                each.p = 0.0  # drops nothing, so that precisions can be compared
        return made

    def in_precision(self, dtype: torch.dtype | None, device: str) -> tuple[Callable[..., Any], list[torch.Tensor]]:
        """The function, fresh, and its weights.

        Args:
            dtype: the precision of its weights; None leaves them as they were made.
            device: one of `amplint.runtime.devices`.
        """
        if self._object is None:
            function: Callable[..., Any] = getattr(self._module, self._method)
            return function, []
        own = copy.deepcopy(self._object)
        weights: list[torch.Tensor] = []
        if isinstance(own, torch.nn.Module):
            own = own.to(dtype=dtype) if dtype is not None else own
            own = own.to("cuda") if device == CUDA else own
            weights = [each for each in own.parameters() if each.requires_grad]
        return (own if self._method == "forward" and callable(own) else getattr(own, self._method)), weights

    def _arguments(self, values: Mapping[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = {}
        for each in self.parameters:
            if each.key:
                given.setdefault(each.name, {})[each.key] = values[each.text]
            else:
                given[each.name] = values[each.text]
        return given

    def evaluate(
        self, owners: Sequence[Operand], point: SamplePoint, way: CallWay, kinds: Mapping[str, str]
    ) -> CallResult:
        """Call it at a point: value and gradients, or the error.

        Args:
            owners: its parameters, in order.
            point: what they hold.
            way: in which precision.
            kinds: what each parameter is; gradients are asked of those whose magnitudes are swept.
        """
        values = {owner.text: way.placed(point.values[owner], owner) for owner in owners}
        leaves = [values[owner.text] for owner in owners if kinds[owner.text] == FREE and not owner.detached]
        dtypes = [dtype_of(owner) for owner in owners if kinds[owner.text] == FREE and not owner.detached]
        try:
            function, weights = self.in_precision(way.precision, way.device)
            leaves = [each.requires_grad_() for each in leaves] + weights
            torch.manual_seed(self._seed)
            with way.entered():
                with way.around_call():
                    results = floating(function(**self._arguments(values)))
                if not results:
                    return CallResult(_failed("it gives back no floating tensor"), dtypes)
                total = whole(results)
                found = torch.autograd.grad(total, leaves, allow_unused=True) if leaves and total.requires_grad else ()
        except Exception as error:  # whatever code raises that is not ours
            said = f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
            return CallResult(_failed(said), dtypes, _row(error, os.fspath(self._module.__file__ or "")))
        value = torch.cat([each.detach().double().reshape(-1).cpu() for each in results])
        filled = (torch.zeros_like(leaf) if each is None else each for leaf, each in zip(leaves, found))
        gradients = (each.detach().double().cpu().reshape(-1) for each in filled)
        return CallResult(Evaluation(value, tuple(gradients)), dtypes + [torch.float32] * len(weights))


def _setting(parameter: inspect.Parameter) -> object:
    annotation = getattr(parameter.annotation, "__name__", parameter.annotation)
    by_annotation = [value for kind, _, value in _SETTINGS if kind == annotation]
    by_name = [value for _, words, value in _SETTINGS if re.search(words, parameter.name)]
    return (by_annotation or by_name)[0]


def _row(error: Exception, file: str) -> int:
    """The row of a file that an error was raised in, or under which torch raised it; 0 where other code of the project did."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_INSTALLED)]
    return (frames[-1].lineno or 0) if frames and frames[-1].filename == file else 0


def _failed(error: str) -> Evaluation:
    return Evaluation(torch.empty(0), (), error)
