"""In which precision the losses are computed that a scaler scales."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.facts.scalers import Scalers
from amplint.file import File
from amplint.hazards.entry_points import Entry
from amplint.model.event_graph import Call, Node, Scoped, parts_of
from amplint.model.events import Scale
from amplint.model.exploration.call_references import MAX_DEPTH
from amplint.model.torch import names as torch_names
from amplint.syntax.entered_contexts import entered_in
from amplint.syntax.nodes import within
from amplint.syntax.words import words

_STEP = re.compile("(^|_)step(_|$)")
"""What methods are called that run a model on a batch, and compute its loss."""
_HARMLESS_CONTEXTS = ("torch.", "builtins.", "tqdm.", "contextlib.", "time.", "tempfile.", "pathlib.")


class Precisions:
    """The precisions of one file's regions, as its scalers meet them."""

    def __init__(self, file: File) -> None:
        self._analysis, self._scalers = file.analysis, file.fact(Scalers)
        self._tree, self._names, self._roles, self._imports = file.tree, file.names, file.roles, file.imports
        self._givens: dict[int, list[cst.BaseExpression]] = {}

    def regions(self, made: cst.Call) -> list[Scoped]:
        """The regions that lower precision in the functions, and in what these call, which scale with the scaler made there.

        Empty where one of the losses is computed out of sight.
        """
        met = [self._regions_at[site] for site in self._scaled_with(made)]
        return [region for regions in met for region in regions] if all(met) else []

    @cached_property
    def _regions_at(self) -> dict[int, dict[Scoped, None]]:
        """The regions of the functions that lead to each place where something is scaled."""
        found: dict[int, dict[Scoped, None]] = {}
        for entry in self._analysis.entries:
            inside = list(nodes_reached(entry))
            regions = dict.fromkeys(each for each in inside if isinstance(each, Scoped))
            for site in {each.site for each in inside if isinstance(each, Scale)}:
                found.setdefault(site, {}).update(regions)
        return found

    @cached_property
    def _scaled_by(self) -> dict[int, list[int]]:
        """The places where something is scaled, by the expression that names the scaler (its identity)."""
        found: dict[int, list[int]] = {}
        for site in self._regions_at:
            for scaler in self._scalers_at(site):
                found.setdefault(scaler, []).append(site)
        return found

    def _scaled_with(self, made: cst.Call) -> set[int]:
        """The places where the scaler scales that is made there."""
        return {site for use in self._scalers.uses(made) for site in self._scaled_by.get(id(use), ())}

    def first(self, regions: list[Scoped]) -> cst.CSTNode:
        """What enters the first of some regions."""
        return self._analysis.program.places[min(each.site for each in regions)]

    def all_full(self, made: cst.Call) -> bool:
        """Whether a scaler scales losses of this file, and nothing in it, nor in what it imports, may run in half precision."""
        scales = self._scaled_with(made)
        computed = bool(scales) and self._is_full and all(map(self._is_computed, scales))
        return computed and not self._imports.lead_to("utocast")  # a model may enter the region itself

    @cached_property
    def _is_full(self) -> bool:
        if any(self._names.references(torch_names.AUTOCAST)) or any(map(_is_half, self._tree.find(cst.Attribute))):
            return False
        called = (call for call in self._tree.find(cst.Call))
        if any("autocast" in word for call in called for word in words(call.func)):
            return False
        entered = entered_in(self._tree, self._tree.module)
        return all(self._is_harmless(each.func if isinstance(each, cst.Call) else each) for each in entered)

    def _is_harmless(self, context: cst.BaseExpression) -> bool:
        """Whether a context runs nothing in half precision; of those of the project, the files that define them are asked."""
        return all(
            name.startswith(_HARMLESS_CONTEXTS) or self._imports.place(name) is not None
            for name in self._names.resolve(context)
        )

    def _is_computed(self, site: int) -> bool:
        """Whether what is scaled at a place is computed in the same function, and not handed to it."""
        call = self._analysis.program.places[site]
        if not isinstance(call, cst.Call):
            return False
        names = [node for node in within(call.args[0].value) if isinstance(node, cst.Name)]
        bound = [each.value for node in names for each in self._names.bindings(node.value, node)]
        return any(isinstance(each, cst.BinaryOperation) or self._is_called_here(each) for each in bound)

    def _is_called_here(self, value: cst.BaseExpression | None) -> bool:
        """Whether a value comes of a call, other than one of a step that an object which is handed over takes with a batch.

        `wrapper.training_step(batch)` runs the model, and may enter a region for it; a model that is called itself is taken
        to enter none.
        """
        func = value.func if isinstance(value, cst.Call) else None
        if (
            not isinstance(func, cst.Attribute)
            or not isinstance(func.value, cst.Name)
            or not _STEP.search(func.attr.value)
        ):
            return func is not None
        return not any(isinstance(each.node, cst.Param) for each in self._names.bindings(func.value.value, func.value))

    def _scalers_at(self, site: int) -> set[int]:
        """The expression that names the scaler of a call, and those by which callers give it to the function (identities)."""
        call = self._analysis.program.places[site] if site >= 0 else None
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
            return set()
        found, waiting = {id(call.func.value)}, [call.func.value]
        while waiting:
            given = [each for each in self._given(waiting.pop()) if id(each) not in found]
            found.update(map(id, given))
            waiting += given
        return found

    def _given(self, scaler: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What the calls in sight give to the parameter that names a scaler; asked once for all that lead to it."""
        if id(scaler) not in self._givens:
            self._givens[id(scaler)] = list(self._roles.flow.given(scaler))
        return self._givens[id(scaler)]

    @cached_property
    def dtypes(self) -> frozenset[str]:
        """What all regions of the file lower to, where gradients are computed."""
        inside = (each for function in self._analysis.functions.values() for each in _inside(function.body))
        return frozenset(each.region.dtype for each in inside if isinstance(each, Scoped))


def _is_half(node: cst.Attribute) -> bool:
    return node.attr.value in ("half", "float16", "bfloat16")


def nodes_reached(entry: Entry) -> Iterator[Node]:
    """What happens in an entry and in what it calls: regions where gradients are computed, and the events in and outside them."""
    waiting, seen = [(entry.function, 0)], {entry.function.key}
    while waiting:
        function, depth = waiting.pop()
        for node in _inside(function.body):
            yield node
            if (
                isinstance(node, Call)
                and node.function not in seen
                and depth < MAX_DEPTH
                and node.function in entry.functions
            ):
                seen.add(node.function)
                waiting.append((entry.functions[node.function], depth + 1))


def _inside(node: Node) -> Iterator[Node]:
    """The regions that lower precision, the calls and the events in a node, but for what runs without gradients."""
    if isinstance(node, Scoped):
        if node.region.device == "grad":
            return
        if node.region.lowers:
            yield node
    parts = parts_of(node)
    if not parts:
        yield node
    for part in parts:
        yield from _inside(part)
