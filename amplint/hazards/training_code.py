"""Whether a file trains at all, as far as it and the functions that its calls lead to tell: else it needs no event graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

import libcst as cst

from amplint.lowering.program import Program
from amplint.model import vocabulary
from amplint.model.libraries import CALLS_FOR_EACH_BATCH
from amplint.model.torch.names import AUTOCAST, GRAD_SCALER
from amplint.roles.gradients import is_gradient
from amplint.syntax.access_paths import called_name
from amplint.syntax.entered_contexts import entered_in

_PASSES = frozenset({"backward", "manual_backward"})
_UNSCALE = "unscale_"
_RUN_WHAT_THEY_GET = frozenset(
    {"step", "add_event_handler", *(name.rpartition(".")[2] for name in CALLS_FOR_EACH_BATCH)}
)
"""What calls that run functions which they are given are called: a closure, or what is called back for each batch."""
_Code = cst.FunctionDef | cst.Module


class TrainingCode:
    """What a file has to do with training.

    Args:
        program: the file, and those that it leads to.
    """

    def __init__(self, program: Program) -> None:
        self._program, self._tree, self._callees = program, program.tree, program.callees

    @cached_property
    def _methods(self) -> frozenset[str]:
        """The names of the methods that the file calls."""
        calls = self._tree.find(cst.Call)
        return frozenset(call.func.attr.value for call in calls if type(call.func) is cst.Attribute)

    @cached_property
    def is_there(self) -> bool:
        """Whether the file, or a function that it leads to, may run a backward pass or take a scaler's step, and the file calls
        anything by the names of the protocol or makes a scaler or a region that other files work with or in."""
        if "backward" in self._methods:
            return True
        clips = any("clip_grad" in name or "backward" in name.split("_") for name in self._methods)
        reads = any(map(is_gradient, self._tree.find(cst.Attribute)))
        acts = clips or reads or "step" in self._methods or not vocabulary.DRIVES.isdisjoint(self._methods)
        makes = any(self._program.names.references(GRAD_SCALER | AUTOCAST)) or self._makes_scaler
        if not acts and not makes:
            return False
        if acts and self._trains(self._tree.module):
            return True
        return (acts or bool(self._abroad)) and any(map(self._trains, self._everything()))

    @property
    def _makes_scaler(self) -> bool:
        """Whether the file makes an object around a scaler, by the name of its class, whose source is at hand."""
        calls = (call for call in self._tree.find(cst.Call) if "Scaler" in called_name(call))
        return any(self._program.classes.instance_of(call) is not None for call in calls)

    @property
    def uses_amp(self) -> bool:
        """Whether a scaler acts, or a region lowers precision, in the file or in a function that it leads to."""
        return any(map(self._scales_or_lowers, self._everything()))

    def _everything(self) -> Iterator[_Code]:
        """The module, and the functions of other files that it leads to, or inherits."""
        yield self._tree.module
        yield from self._abroad
        yield from self._reached(self._program.templates)

    @cached_property
    def _abroad(self) -> list[_Code]:
        """The functions of other files that calls in this one lead to."""
        return [*self._reached([self._tree.module])][1:]

    def _trains(self, node: _Code) -> bool:
        """Whether a backward pass or a scaler's step may stand in a function, or a module."""
        words = self._tree.words(node)
        if not _PASSES.isdisjoint(words):
            return True
        calls = self._tree.inside(node, cst.Call) if "step" in words else ()
        stepping = (call.func for call in calls if call.args and called_name(call) == "step")
        return any(
            type(func) is cst.Attribute and self._program.roles.of(func.value).role == "scaler" for func in stepping
        )

    def _scales_or_lowers(self, node: _Code) -> bool:
        """Whether a scaler may act in a function, or a module, or a region lower precision there."""
        methods = (each for each in self._tree.inside(node, cst.Attribute) if each.attr.value in vocabulary.OF_SCALERS)
        if any(self._program.roles.of(each.value).role == "scaler" or each.attr.value == _UNSCALE for each in methods):
            return True
        contexts = self._program.contexts
        regions = [contexts.of(each) for each in entered_in(self._tree, node)]
        regions += [
            each for function in self._tree.inside(node, cst.FunctionDef) for each in contexts.decorating(function)
        ]
        return any(region is not None and region.lowers for region in regions)

    def _reached(self, start: Iterable[_Code]) -> Iterator[_Code]:
        """The module, or some functions, and the functions of other files that their calls lead to, through others, too."""
        waiting = [*start]
        seen = set(waiting)
        for node in waiting:  # it grows
            yield node
            for found in self._called(node):
                if found not in seen and self._tree.root(found) is not self._tree.module:
                    seen.add(found)
                    waiting.append(found)

    def _called(self, node: _Code) -> Iterator[cst.FunctionDef]:
        """The functions that run when the code of a function, or of a module, does."""
        for call in self._tree.inside(node, cst.Call):
            named = (arg.value for arg in call.args if type(arg.value) is cst.Name)
            runs = [call, *map(cst.Call, named if called_name(call) in _RUN_WHAT_THEY_GET else ())]
            inside = self._tree.enclosing(call, cst.FunctionDef) or self._tree.root(call)
            yield from (found.node for each in runs for found in self._callees.all_of(each, inside))
        for item in self._tree.inside(node, cst.WithItem):
            yield from (each.node for each in self._callees.managing(item.item) or ())
