"""Forward passes: which calls are of a model, in which regions, and whether in training or in evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.models import Models, is_module
from amplint.facts.obscure_contexts import ObscureContexts
from amplint.facts.pass_purposes import Purposes
from amplint.file import File
from amplint.model.events import Region
from amplint.model.records import frozen
from amplint.syntax.access_paths import path_of

_PARALLEL = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DataParallel"})
_MAX_CALLERS = 3

Entry = tuple[Region, cst.BaseExpression]
"""A region, and the expression that enters it."""


@frozen
class ForwardPass:
    """A forward pass, in one of the ways in which its file is seen to come to it.

    Attributes:
        chain: the call of the model, the call of the function that it stands in, and so on.
        model: the model, as the author writes it in the call.
        names: by what names the model is known, in the same order.
        scope: the function, or the module, in which it goes by the last of these names.
        known: whether this name is the model's own, and not that of a parameter that other files give.
        entries: the regions around it, outermost first.
        trains: whether it is part of training.
        evaluates: at which call of the chain it turns out to be an evaluation; -1 where it is none.
        obscure: whether a context around it may be a region for all that this file tells.
    """

    chain: tuple[cst.Call, ...]
    model: str
    names: tuple[str, ...]
    scope: cst.CSTNode
    known: bool
    entries: tuple[Entry, ...]
    trains: bool
    evaluates: int
    obscure: bool = False

    @property
    def call(self) -> cst.Call:
        """The call of the model."""
        return self.chain[0]

    @property
    def entry(self) -> Entry | None:
        """The autocast region that decides its precision; None where there is none, or it is switched off."""
        regions = [entry for entry in self.entries if entry[0].device != "grad"]
        return regions[-1] if regions and regions[-1][0].lowers else None

    def is_same_model(self, other: ForwardPass) -> bool:
        """Whether another pass is of the same model, as far as names tell."""
        if (self.known and other.known) or self.scope is other.scope:
            return self.names[-1] == other.names[-1]
        return not set(self.names).isdisjoint(other.names)


class Forwards:
    """The forward passes of one file."""

    def __init__(self, file: File) -> None:
        self._file, self._tree = file, file.tree
        self._models = Models(file)
        self._purposes = Purposes(file, self._models)
        self._obscure = ObscureContexts(file)

    @cached_property
    def passes(self) -> tuple[ForwardPass, ...]:
        """All of them in source order; one for each way in which this file is seen to come to the call."""
        return tuple(each for call in self._tree.find(cst.Call) for each in self._passes(call))

    @cached_property
    def _training(self) -> list[ForwardPass]:
        return [each for each in self.passes if each.trains]

    def of_training(self, model: ForwardPass) -> list[ForwardPass]:
        """The passes in training of the model of a pass."""
        return [each for each in self._training if each.is_same_model(model)]

    def unlike_training(self) -> Iterator[tuple[ForwardPass, cst.Call, ForwardPass]]:
        """The evaluations that run in no autocast region, each with the call that is to blame and a training pass of the same
        model that runs in one.

        A pass that an evaluation comes to inside of a region as well, or of a context that may be one, is none of them; nor
        are those of a model that is both trained and evaluated in a region and out of it, for then there is a choice.
        """
        done: set[cst.Call] = set()
        for each in self.passes:
            if each.evaluates < 0 or each.entry is not None or each.obscure:
                continue
            training = next((other for other in self.of_training(each) if other.entry is not None), None)
            if training is None or self._is_covered(each) or self._is_chosen(each) or self.own_region(each):
                continue
            shared = any(other.trains and other.call is each.call for other in self.passes)
            if shared and self._models.is_local(each.call.func):
                continue
            place = each.chain[each.evaluates if shared else 0]
            if place not in done:
                done.add(place)
                yield each, place, training

    def _is_covered(self, each: ForwardPass) -> bool:
        """Whether the same evaluation runs in a region on another way, or beside it in the same function."""
        home = self._home(each.call)
        for other in self.passes:
            if other.entry is None and not other.obscure:
                continue
            if other.call is each.call and not other.trains:
                return True
            if other.evaluates >= 0 and self._home(other.call) is home and other.is_same_model(each):
                return True
        return False

    def _is_chosen(self, each: ForwardPass) -> bool:
        """Whether there are functions that train the model of a pass in a region, others that do so in none, and likewise of
        evaluation."""
        homes: dict[tuple[bool, cst.CSTNode], bool] = {}
        for other in self.passes:
            if (other.trains or other.evaluates >= 0) and other.is_same_model(each):
                key = other.trains, self._home(other.call)
                homes[key] = homes.get(key, False) or other.entry is not None
        return len({(trains, enters) for (trains, _), enters in homes.items()}) == 4

    def _home(self, call: cst.Call) -> cst.CSTNode:
        return self._tree.enclosing(call, cst.FunctionDef) or self._tree.module

    def is_data_parallel(self, each: ForwardPass) -> bool:
        """Whether the model of a pass is, at least at times, a `DataParallel`."""
        return any(self._file.names.all_in(value.func, _PARALLEL) for value in self.makers(each))

    def makers(self, each: ForwardPass) -> list[cst.Call]:
        """The calls that may have made the model of a pass, in its own function or in those that hand it over."""
        return self._models.makers(each.call)

    def own_region(self, each: ForwardPass) -> Region | None:
        """The first region in half that the model of a pass may enter in its own `forward`."""
        return self._models.own_region(each.call)

    # -- passes ----------------------------------------------------------------------------------------------------

    def _passes(self, call: cst.Call) -> Iterator[ForwardPass]:
        model = self._models.run_by(call)
        for chain in self._chains(call, 0) if model is not None else ():
            assert model is not None
            models = [self._models.origin(model)]
            for caller in chain[1:]:
                given = self._models.given(models[-1], caller)
                if given is None:
                    break
                models.append(self._models.origin(given))
            names = tuple(map(self._models.name, (model, *models)))
            entries = tuple(entry for node in reversed(chain) for entry in self._file.contexts.entries(node))
            trains, evaluates = self._purposes.of(chain, models)
            obscure = any(map(self._obscure.around, chain))
            known = not self._models.is_parameter(models[-1])
            scope = self._home(chain[len(models) - 1])
            yield ForwardPass(chain, path_of(model), names, scope, known, entries, trains, evaluates, obscure)

    def _chains(self, call: cst.Call, depth: int) -> Iterator[tuple[cst.Call, ...]]:
        """A call, the call of its function, and so on; the parts of a module are no models of their own."""
        home = self._tree.enclosing(call, cst.FunctionDef)
        callers = self._file.callees.callers(home) if depth < _MAX_CALLERS and not self._is_forward(home) else ()
        if not callers:
            yield (call,)
        for caller in callers:
            yield from ((call, *chain) for chain in self._chains(caller, depth + 1))

    def _is_forward(self, home: cst.CSTNode | None) -> bool:
        if not isinstance(home, cst.FunctionDef) or home.name.value != "forward":
            return False
        info = self._file.classes.owner(home)
        return info is None or is_module(info) or not info.closed
