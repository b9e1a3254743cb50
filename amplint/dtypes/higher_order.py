"""The dtype flow through calls of what calls others: `map`, `partial`, activation checkpointing; and through lists that grow."""

from __future__ import annotations

from abc import abstractmethod

import libcst as cst

from amplint.dtypes.containers import MOST_ITEMS
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.functions import Functions
from amplint.dtypes.values import (
    Arguments,
    Closure,
    FromLibrary,
    Instance,
    Items,
    Layer,
    Record,
    Tensor,
    Value,
)
from amplint.model.records import changed

_CHECKPOINTS = frozenset({"torch.utils.checkpoint.checkpoint"})
_CHECKPOINT_OPTIONS = frozenset(
    "use_reentrant preserve_rng_state context_fn determinism_check debug early_stop".split()
)
_SEQUENCES = frozenset({"builtins.list", "builtins.tuple", "builtins.iter"})


class HigherOrder(Functions):
    """Evaluates calls of what is given functions and modules."""

    @abstractmethod
    def apply(self, value: Value, node: cst.Call, called: str, arguments: Arguments, frame: StackFrame) -> Value:
        """What a value gives back when it is called.

        Args:
            value: the function, module or class.
            node: the call.
            called: the name that it is called by.
            arguments: what it is given.
            frame: where evaluation stands.
        """

    def passed_on(self, meaning: str, node: cst.Call, arguments: Arguments, frame: StackFrame) -> Value | None:
        """What a call gives back that hands its arguments to one of them; None for any other.

        Args:
            meaning: the full name of what is called.
            node: the call.
            arguments: what it is given.
            frame: where evaluation stands.
        """
        if not arguments.values:
            return None
        first, rest = arguments.values[0], arguments.values[1:]
        if meaning == "builtins.map" and rest:
            return self._mapped(first, node, rest, frame)
        if meaning in _SEQUENCES and isinstance(first, (Items, Layer, Instance)):
            return first
        if meaning == "builtins.reversed":
            return Items(first.items[::-1]) if isinstance(first, Items) else first
        if meaning == "functools.partial" and isinstance(first, FromLibrary):
            return first  # none of its settings decides a dtype
        if meaning in _CHECKPOINTS and isinstance(first, (Closure, Layer, Instance, FromLibrary)):
            keywords = {name: each for name, each in arguments.keywords.items() if name not in _CHECKPOINT_OPTIONS}
            given = changed(arguments, nodes=arguments.nodes[1:], values=rest, keywords=keywords)
            return self.apply(first, node, "", given, frame)
        return None

    def _mapped(self, function: Value, node: cst.Call, given: tuple[Value, ...], frame: StackFrame) -> Value | None:
        if not isinstance(function, (Closure, Layer, Instance, FromLibrary)):
            return None
        if len(given) == 1 and isinstance(given[0], Items):
            return Items(
                tuple(self.apply(function, node, "", Arguments(values=(each,)), frame) for each in given[0].items)
            )
        return self.apply(function, node, "", Arguments(values=given), frame) if len(given) == 1 else None

    def parts_of_chain(self, arguments: Arguments) -> tuple[Value, ...]:
        """The layers of an `nn.Sequential`, where a list that is spread out stands for its elements.

        Args:
            arguments: what it is given.
        """
        parts: list[Value] = []
        for value in (*arguments.values, *arguments.spread):
            if isinstance(value, Record):  # an `OrderedDict` of named layers
                parts.extend(each for _, each in value.fields)
            else:
                parts.extend(value.items if isinstance(value, Items) else (value,))
        return tuple(parts)

    def lengthened(self, chain: Layer, method: str, arguments: Arguments) -> Layer | None:
        """An `nn.Sequential` once a method has put another layer at its end; None for any other method.

        Args:
            chain: the `nn.Sequential`.
            method: the name of the method.
            arguments: what it is given.
        """
        if chain.kind != "Sequential" or method not in ("add_module", "append"):
            return None
        given = arguments.get(1 if method == "add_module" else 0, "module")
        return changed(chain, parts=(*chain.parts[:MOST_ITEMS], given)) if given is not None else None

    def grown(self, base: Items, method: str, arguments: Arguments) -> Items | None:
        """A list after one of its methods has put something at its end; None for other methods.

        Args:
            base: the list.
            method: the name of the method.
            arguments: what it is given.
        """
        if method not in ("append", "extend") or len(arguments.values) != 1 or len(base.items) >= MOST_ITEMS:
            return None
        (value,) = arguments.values
        added = value.items if method == "extend" and isinstance(value, Items) else (value,)
        if base.items and len(added) == 1 and _alike(base.items[-1], added[0]):
            return base  # what a loop makes again behaves as before
        return Items((*base.items, *added))


def _alike(one: Value, other: Value) -> bool:
    if isinstance(one, Instance) and isinstance(other, Instance):
        return one.cls is other.cls
    return one == other and not isinstance(one, Tensor)
