"""Code that only tries something out: tests, timings, gradient checks. Nothing trains there, so nothing is to be protected."""

from __future__ import annotations

import re
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.syntax.access_paths import called_name

_TRAINS = re.compile(r"optim|(^|_)opt$|^step$|^zero_grad$|scaler", re.IGNORECASE)
"""Identifiers that say that something is trained."""
_TRAINS_IN_TEXT = re.compile(r"optim|\bstep\(|zero_grad|scaler", re.IGNORECASE)
_TRIES = re.compile(
    r"^_*test(?!able|ament|imon)|^_*check_|(^|_)(bench(mark)?s?|profile|latency|throughput|speed|timing|grad_?check|check_grad\w*)($|_)|"
    r"(^|_)oom($|_)|^_*(measure|time)_",
    re.IGNORECASE,
)
_TEST_FILE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test|conftest)\.(py|ipynb)$")
_MEASURING_FILE = re.compile(r"(^|/)([^/]*_)?(bench(mark)?s?|profil(e|ing))(_[^/]*)?\.(py|ipynb)$")
_KEEPS_STATE = re.compile(r"optim\w*\.state_dict\(")
"""What a mere measurement has no use for: a benchmark that compares models trains them, and goes on where it stopped."""
_TRIAL_MODULES = ("pytest", "unittest", "torch.testing", "torch.utils.benchmark", "timeit", "triton.testing")
_TIMES = frozenset("perf_counter perf_counter_ns elapsed_time do_bench gradcheck gradgradcheck assert_close".split())


class Trials:
    """Which functions of one file, or whether the file as a whole, only try something out."""

    def __init__(self, file: File) -> None:
        self._tree, self._names = file.tree, file.names

    @cached_property
    def everywhere(self) -> bool:
        """Whether the file tests or measures, and no word in it has to do with an optimizer."""
        if _TRAINS_IN_TEXT.search(self._tree.source.text) is not None:
            return False
        return self._is_trial_file or self._imports_trial or self._measures(self._tree.module)

    @cached_property
    def tests(self) -> tuple[cst.FunctionDef, ...]:
        """The functions of a file of tests that train nothing."""
        if not (self._is_trial_file or self._imports_trial):
            return ()
        return tuple(each for each in self._tree.find(cst.FunctionDef) if self._tries(each) and not self._trains(each))

    def is_called_one(self, function: cst.FunctionDef) -> bool:
        """Whether a function, or its file, is a test or a measurement by its name, whatever it trains."""
        return self._is_trial_file or _TRIES.search(function.name.value) is not None

    def is_in_one(self, node: cst.CSTNode) -> bool:
        """Whether a function around a place, or its file, is a test or a measurement by its name, whatever it trains."""
        return self._is_trial_file or any(self.is_called_one(each) for each in self._functions_around(node))

    def _functions_around(self, node: cst.CSTNode) -> list[cst.FunctionDef]:
        return [each for each in (node, *self._tree.ancestors(node)) if isinstance(each, cst.FunctionDef)]

    @cached_property
    def _is_trial_file(self) -> bool:
        path, text = self._tree.source.path.replace("\\", "/"), self._tree.source.text
        measures = _MEASURING_FILE.search(path) is not None and _KEEPS_STATE.search(text) is None
        return measures or _TEST_FILE.search(path) is not None

    def at(self, node: cst.CSTNode) -> bool:
        """Whether a function around a place is a test or a measurement in which no word has to do with an optimizer."""
        if self.everywhere:
            return True
        return any(self._tries(function) and not self._trains(function) for function in self._functions_around(node))

    @cached_property
    def _imports_trial(self) -> bool:
        bound = self._names.bindings_in(self._tree.module).values()
        imported = [each.qualified for bindings in bound for each in bindings if isinstance(each.node, cst.ImportAlias)]
        return any(name == known or name.startswith(f"{known}.") for name in imported for known in _TRIAL_MODULES)

    def _tries(self, function: cst.FunctionDef) -> bool:
        return _TRIES.search(function.name.value) is not None or self._measures(function)

    def _measures(self, node: cst.CSTNode) -> bool:
        return any(called_name(each) in _TIMES for each in self._tree.inside(node, cst.Call))

    def _trains(self, function: cst.FunctionDef) -> bool:
        return any(_TRAINS.search(each.value) for each in self._tree.inside(function, cst.Name))
