"""Other processes that a file starts, and the scalers that it hands over to them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.file import File
from amplint.model.records import frozen
from amplint.syntax.access_paths import called_name, elements, path_of
from amplint.syntax.nodes import is_sequence

_SPAWN = frozenset({"torch.multiprocessing.spawn", "torch.multiprocessing.spawn.spawn"})
_PROCESS = frozenset({"multiprocessing.Process", "torch.multiprocessing.Process", "multiprocessing.context.Process"})


@frozen
class HandOver:
    """A scaler that a process gets from the one that starts it.

    `given` is the scaler among the arguments, `entry` its element there; `made` constructs it. `parameter` is that of the
    function `worker` which gets it; None where this cannot be told.
    """

    given: cst.BaseExpression
    entry: cst.BaseElement | cst.BaseDictElement
    made: cst.Call
    worker: cst.FunctionDef | None
    parameter: cst.Param | None


class Processes:
    """The processes that one file starts."""

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._roles = file.tree, file.names, file.roles

    @cached_property
    def handed_over(self) -> tuple[HandOver, ...]:
        """The scalers, made in this file and not known to be disabled, that other processes get."""
        return tuple(each for call in self._tree.find(cst.Call) for each in self._given(call))

    def _given(self, call: cst.Call) -> Iterator[HandOver]:
        spawns = self._names.all_in(call.func, _SPAWN)
        if not spawns and not self._starts_process(call):
            return
        started = _argument(call, 0 if spawns else 1, "fn" if spawns else "target")
        worker = self._names.function(started) if started is not None else None
        args, kwargs = _argument(call, 1 if spawns else 3, "args"), _argument(call, 4, "kwargs")
        flow = self._roles.flow
        for holder in flow.meant(args):
            if is_sequence(holder):
                for index, element in enumerate(holder.elements):
                    yield from self._hand_over(element, worker, index + spawns, "")
        for holder in () if spawns else flow.meant(kwargs):
            for key, item in elements(holder) if isinstance(holder, cst.Dict) else ():
                if key and isinstance(item, cst.DictElement):
                    yield from self._hand_over(item, worker, -1, key)

    def _hand_over(
        self,
        entry: cst.BaseElement | cst.BaseDictElement,
        worker: cst.FunctionDef | None,
        index: int,
        name: str,
    ) -> Iterator[HandOver]:
        made = self._made(entry.value)
        if made is None:
            return
        params = (*worker.params.posonly_params, *worker.params.params) if worker is not None else ()
        if name:
            parameter = next((each for each in params if each.name.value == name), None)
        else:
            parameter = params[index] if index < len(params) else None
        yield HandOver(entry.value, entry, made, worker, parameter)

    def _made(self, given: cst.BaseExpression) -> cst.Call | None:
        """The call that constructs a scaler which is given; None where it is something else, or disabled."""
        facts = self._roles.of(given)
        if facts.role != "scaler" or facts.enabled == "no":
            return None
        values = (given, *self._roles.values(given)) if path_of(given) else (given,)
        made = [each for each in values if isinstance(each, cst.Call) and self._roles.made_by(each) is not None]
        return made[0] if made else None

    def _starts_process(self, call: cst.Call) -> bool:
        if self._names.all_in(call.func, _PROCESS):
            return True
        if type(call.func) is not cst.Attribute or call.func.attr.value != "Process":
            return False
        values = self._roles.flow.meant(call.func.value)
        return bool(values) and all(called_name(each) == "get_context" for each in values)


def _argument(call: cst.Call, position: int, name: str) -> cst.BaseExpression | None:
    if any(arg.star for arg in call.args):
        return None
    named = next((arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)
    positional = [arg.value for arg in call.args if arg.keyword is None]
    return named or (positional[position] if position < len(positional) else None)
