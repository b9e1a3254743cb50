"""The dtype flow: which values autocast computes in half, what bounds them, and what a loss is differentiated through.

One abstract evaluation of a file, from its module body and from each of its functions. Functions and classes of the file
are followed into at every call, with the arguments and the regions of that call, so that a criterion is judged where it
runs. Values of unknown functions and parameters are unknown, and everything built on the unknown stays so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import libcst as cst

from amplint.diagnostics import FLOAT16_TRAINING, Position, Range, Related
from amplint.dtypes.arithmetic import LOG_PROBABILITIES
from amplint.dtypes.asked_results import asking_calls
from amplint.dtypes.callees_elsewhere import CalleesElsewhere
from amplint.dtypes.constants import ConstantEffect, ConstantUse, constants, distinct_uses
from amplint.dtypes.file_flow import FileFlow
from amplint.dtypes.hazards import Danger, DtypeHazard, calls_followed, loss_hazards
from amplint.dtypes.idle_functions import idle_functions, lowering
from amplint.dtypes.islands import islands
from amplint.dtypes.large_numbers import functions_met
from amplint.dtypes.layers_elsewhere import LayersElsewhere
from amplint.dtypes.shapes import shape_of
from amplint.dtypes.values import Number, Operation, Tensor, Value, tensors
from amplint.file import File
from amplint.model.caller_contexts import CallerContext, CallManner, ResultElsewhere
from amplint.model.events import Region
from amplint.model.rule_options import Option
from amplint.model.torch.operators import Policy, policy
from amplint.model.torch.precision import FLOAT16
from amplint.syntax.access_paths import called_name
from amplint.syntax.entered_contexts import entered_in

__all__ = [
    "ConstantEffect",
    "ConstantUse",
    "Danger",
    "DtypeHazard",
    "Dtypes",
    "LOG_PROBABILITIES",
    "Number",
    "OWN_LOSSES",
    "Operation",
    "Tensor",
]

OWN_LOSSES = Option[tuple[str, ...]](
    "AMP301", "losses", (), "Functions, methods and classes that compute a loss, where nothing in their names says so."
)
_REFUSED, _REFUSED_LOSS = "binary_cross_entropy", "torch.nn.BCELoss"
"""What autocast refuses to run in float16, and the module that runs it."""
_BUDGET = 40_000
"""Expressions evaluated per file; past it the rest of the file is not judged."""


class Dtypes:
    """The dtype flow of one file; evaluated when first asked."""

    def __init__(self, file: File) -> None:
        self._file, self._tree, self._contexts = file, file.tree, file.contexts
        self._callers: dict[Operation, CallerContext] = {}
        self._given_back: dict[CallManner, tuple[Value, ...]] = {}
        self._callees, self._layers = CalleesElsewhere(file), LayersElsewhere(file)
        losses = frozenset(file.option(OWN_LOSSES))
        parts = file.tree, file.names, file.contexts, file.classes, losses, _BUDGET
        self._idle, self._elsewhere = FileFlow(*parts, self._callees.result, self._layers), FileFlow(*parts)

    def close(self) -> None:
        """Let go of what was followed: frames and the functions defined in them know each other."""
        for flow in (self._idle, self._elsewhere):
            vars(flow.top).clear()
            vars(flow).clear()

    @cached_property
    def _flow(self) -> FileFlow:
        flow = self._idle
        flow.whole_file(apart=frozenset(idle_functions(self._tree, lowering(self._file))))
        for context in self._entered:
            before, leaving = len(flow.operations), dict(flow.leaving)
            given_back = flow.enter_as(context)
            if context.asks:
                self._given_back[context.way] = given_back
            self._callers.update((operation, context) for operation in flow.operations[before:])
            if not context.caller:  # what is only taken for granted is not handed on
                flow.leaving = leaving
        return flow

    @cached_property
    def _entered(self) -> tuple[CallerContext, ...]:
        return (*self._file.entered, *islands(self._file))

    def contexts(self, uses: bool) -> tuple[CallerContext, ...]:
        """How the calls of this file enter functions of other files.

        Args:
            uses: whether a rule may say something of what they give back.
        """
        if not self._meets_half:
            return ()
        leaving = {call: loss or call in self._flow.reached for call, loss in self._flow.leaving.items()}
        returned = (value for values in self._given_back.values() for value in values)
        losses = [call for call, loss in leaving.items() if loss]
        asked = asking_calls(self._flow.operations if uses else (), returned, losses)
        normalised = {call for call, loss in self._flow.leaving.items() if not loss and self._flow.reached.get(call)}
        return self._callees.contexts(leaving, asked, normalised)

    @property
    def results(self) -> tuple[ResultElsewhere, ...]:
        """What the functions of this file give back to other files that ask for it, as far as something is known of it."""
        if not any(context.asks for context in self._entered) or not self.operations:
            return ()
        told = {way: values for way, values in self._given_back.items() if values and all(map(_tells, values))}
        return tuple(ResultElsewhere(way, tuple(map(shape_of, values))) for way, values in told.items())

    def caller(self, operation: Operation) -> tuple[Related, ...]:
        """Where another file enters the region in which an operation runs, as a second location; empty for one of this file."""
        context = self._callers.get(operation)
        if context is None:
            return ()
        if not context.caller:
            return (Related("autocast is switched off here, as code does that is called under it", _place(context)),)
        what = (
            "called with half operands here"
            if context.region is None
            else "called under autocast here"
            if context.under
            else "the autocast region is entered here"
        )
        return (Related(what, _place(context), context.caller),)

    def maker(self, operation: Operation) -> tuple[Related, ...]:
        """Where another file makes the module that runs an operation, as a second location; empty where this one does.

        Args:
            operation: one of the file.
        """
        return self._layers.related(operation.layer) if operation.layer is not None else ()

    def origin(self, operation: Operation, operand: Tensor, dtype: str = FLOAT16) -> tuple[Related, ...]:
        """Where an operand became half, and where another file enters the region: the second locations of a finding.

        Args:
            operation: the operation that the finding is about.
            operand: the operand.
            dtype: what it became, in words.
        """
        return (*self.became_half(operand, dtype), *self.maker(operation), *self.caller(operation))

    def became_half(self, operand: Tensor, dtype: str = FLOAT16) -> tuple[Related, ...]:
        """Where an operand became half, as a second location.

        Args:
            operand: the operand.
            dtype: what it became, in words.
        """
        given = operand.half_at in self._callees.answered
        what = f"another file of the project gives this back in {dtype}" if given else f"computed in {dtype} here"
        return self._file.related(what, operand.half_at)

    def needs(self, operation: Operation) -> frozenset[str]:
        """The facts of the project without which nothing can be said about an operation."""
        context = self._callers.get(operation)
        return frozenset({FLOAT16_TRAINING}) if context is not None and not context.caller else frozenset()

    @property
    def operations(self) -> list[Operation]:
        """Every operation on tensors, once for each way in which the file reaches it."""
        return self._flow.operations

    @cached_property
    def loss_hazards(self) -> tuple[DtypeHazard, ...]:
        """Exponentials and logarithms that half precision breaks, in code that a loss is differentiated through."""
        if not (calls_followed(self._tree) and self._enters_float16()):
            return ()
        return tuple(loss_hazards(self._flow.operations, self._flow.reached, self._tree))

    @property
    def unknown_losses(self) -> Iterator[tuple[cst.Call, str]]:
        """The calls of losses that nothing in the file makes: outside of any region, on what is half, or in a region, where
        the second of each pair names the one class of PyTorch that makes a difference there."""
        for call in self._flow.leaving if self._meets_half else ():
            if isinstance(call.node, cst.Call) and self._flow.is_loss(called_name(call.node)):
                if call.region is None:
                    yield call.node, ""
                elif policy(_REFUSED, call.region.device) in (Policy.BANNED, None):
                    yield call.node, _REFUSED_LOSS

    def is_learned_from(self, operation: Operation) -> bool:
        """Whether a loss is differentiated through an exponential, a logarithm, or logarithms of probabilities.

        Args:
            operation: one of the file.
        """
        return operation in self._flow.reached

    @cached_property
    def lowered(self) -> tuple[Operation, ...]:
        """Every operation of a file that enters a region of half precision, or is entered in one; nothing of other files."""
        return tuple(operation for operation in self._perhaps_lowered if not self.needs(operation))

    def lowered_where(self, is_wanted: Callable[[Operation], bool]) -> Iterator[Operation]:
        """Those of them that are wanted, one for each place: one with gradients, if any of the ways that lead there has them."""
        seen: set[cst.CSTNode] = set()
        for operation in sorted(self.lowered, key=lambda each: not each.differentiates):
            if operation.node not in seen and is_wanted(operation):
                seen.add(operation.node)
                yield operation

    @cached_property
    def _perhaps_lowered(self) -> tuple[Operation, ...]:
        """The same, and those of which it is only taken for granted that a caller enters a region."""
        return tuple(self._flow.operations) if self._meets_half else ()

    @cached_property
    def _meets_half(self) -> bool:
        """Whether the file enters a region of half precision, or is entered in one or with half operands."""
        return any(each.caller for each in self._entered) or any(region.lowers for region in self._regions())

    @cached_property
    def constants(self) -> tuple[ConstantUse, ...]:
        """Constants that meet float16 tensors, one for each place in the file."""
        return distinct_uses(constants(self._perhaps_lowered))

    @cached_property
    def constants_if_lowered(self) -> tuple[ConstantUse, ...]:
        """Constants that would meet float16 tensors, which the function itself computes, if its caller entered a region.

        Nothing of a file that enters regions itself, nor of a function that is known to be called in one: there is no need
        to guess. Of what stands beside such a function nothing is said, either, unless all are called in float16.
        """
        if any(region.device != "grad" for region in self._own_regions()) or not all(
            region.lowers and region.may_be_float16 for region in self._given_regions()
        ):
            return ()
        met = functions_met(self._file)
        met = met and met - self._entered_functions
        if not met:
            return ()
        self._elsewhere.whole_file(Region("cuda", FLOAT16, "maybe"), frozenset(self._tree.find(cst.FunctionDef)) - met)
        found = distinct_uses(constants(self._elsewhere.operations))
        return tuple(each for each in found if self._is_made_beside(each) and not self._is_entered(each.operation))

    def _is_entered(self, operation: Operation) -> bool:
        """Whether an operation stands in a function that was followed as code of another file enters it."""
        return self._tree.enclosing(operation.node, cst.FunctionDef) in self._entered_functions

    @cached_property
    def _entered_functions(self) -> frozenset[cst.FunctionDef]:
        if not self._entered:  # as nearly always; the flow may be needed for nothing else
            return frozenset()
        entered = (each for each in self._flow.operations if each in self._callers)
        around = (self._tree.enclosing(each.node, cst.FunctionDef) for each in entered)
        return frozenset(each for each in around if isinstance(each, cst.FunctionDef))

    def _is_made_beside(self, constant: ConstantUse) -> bool:
        """Whether the operand is brought to half by the function in which the constant stands."""
        made, function = constant.operand.half_at, self._tree.enclosing(constant.operation.node, cst.FunctionDef)
        return made is not None and function is not None and self._tree.enclosing(made, cst.FunctionDef) is function

    def users(self, node: cst.CSTNode) -> list[Operation]:
        """The operations that are given what `node` computes, as it is or as some of its elements."""
        return self._users.get(node, [])

    @cached_property
    def _users(self) -> dict[cst.CSTNode, list[Operation]]:
        found: dict[cst.CSTNode, list[Operation]] = {}
        for operation in self._perhaps_lowered:
            for node in {part.made for part in operation.arguments.tensors if part.made is not None}:
                found.setdefault(node, []).append(operation)
        return found

    def _enters_float16(self) -> bool:
        return any(region.lowers and region.dtype == FLOAT16 for region in self._regions())

    def _regions(self) -> Iterator[Region]:
        yield from self._own_regions()
        yield from self._given_regions()

    def _given_regions(self) -> Iterator[Region]:
        """The regions in which others call functions of this file."""
        return (context.region for context in self._entered if context.region is not None)

    def _own_regions(self) -> Iterator[Region]:
        """The regions that the file enters itself."""
        regions = map(self._contexts.of, entered_in(self._tree, self._tree.module))
        yield from (region for region in regions if region is not None)
        for function in self._tree.find(cst.FunctionDef):
            yield from self._contexts.decorating(function)


def _tells(value: Value) -> bool:
    """Whether anything is known of a value, or of a part of it."""
    return any(shape_of(each) is not None for each in tensors(value))


def _place(context: CallerContext) -> Range:
    return Range(Position(context.row, context.column, 0), Position(context.end_row, context.end_column, 0))
