"""How a defect shows: what a rule says about its observable, so that a replay can measure it.

A rule about numbers (AMP301 and its like: lost epsilons, constants and results that overflow, errors that torch raises on a
dtype) declares one thing, whatever it is about:

    @rule("AMP301", "exp-log-in-loss", fix=Applicability.SAFE, observable=Observable(NON_FINITE))

Its diagnostic has to cover the operation that goes wrong (a call, an operator, an assignment to elements): the replay
computes what comes of this operation, up to the loss or to what the function returns, with values in place of model
outputs and targets, before and after the fix (`amplint.runtime.numeric`). The precision of operands is that of the dtype flow.
A rule whose defect may cost digits and nothing more says `VALUE_ERROR` instead of `NON_FINITE`.
"""

from __future__ import annotations

from amplint.model.records import frozen

NORM_SEEN = "norm seen by the optimizer"
"""The norm of the gradients that each step of an optimizer took (the largest element, where the author clips by value),
and what an injected overflow did to the parameters."""
GRADIENT_READ = "norm of the gradients that are read"
"""The norm of the gradients that the program measures, or of those that a step takes, where it changes them."""
RAISED = "error raised"
"""What torch raises."""
UNMOVED = "steps that move nothing"
"""What torch raises, and how many steps found no gradients and left the parameters as they were."""
ZEROED = "fraction of gradients lost to zero"
"""How many gradients are exactly zero that are not in float32, at a small loss."""
SCHEDULER_LEAD = "scheduler steps beyond optimizer steps"
"""How far a schedule has run ahead of the steps that were really taken."""
ISLAND_ERROR = "error of the gradients of a float32 part"
"""How far the gradients of a part that the model runs in float32 are from float32 ones, relative to those."""
PRODUCT_TIME = "time of the matrix products in microseconds"
"""How long a GPU takes for the products of the linear layers that a fix resizes, forward and backward. The tolerance is the
least saving that counts, as a fraction."""
WARNED = "deprecation warnings"
"""How many of them the construction of the named object brings about."""
LOSS_ERROR = "error of the loss"
"""How far the losses that the loop computes are from those that its weights give outside of autocast, relative to these."""
CONSTRUCTED = "what is constructed"
"""What the construction of the named object raises, or the settings that the object ends up with."""
SKIPPED = "optimizer steps skipped"
"""How many steps the scaler skips where the gradients overflow at its initial scale."""
RESUMED = "optimizer steps skipped after the resume"
"""How many steps the scaler skips after a resume from what the checkpoint holds, of a run that had settled."""
REPORTED = "loss reported"
"""What is shown or kept as the loss."""
MISTAKEN = "taken steps that the test takes for skipped"
"""How many of them there are, while the scale grows and falls."""
INNER_GRADIENTS = "norm of the inner gradients"
"""How large gradients come out that become part of a loss, and how many of them are lost to zero, at a small loss."""
CHECKED = "passes over the gradients in search of overflow"
"""How often the scaler goes over all gradients, and whether that changes any of them."""

LEFT_ON = "autocast after the call"
"""Whether a thread is still in an autocast region after a function has returned."""
IN_REPLICA = "precision of a replica"
"""The precision of a matrix product in a thread of `DataParallel`."""
DAMAGED = "parameters that are not finite"
"""How many of them there are after a batch whose loss is not."""
OVERFLOWED = "parameters that an overflow reaches"
"""How many of them are not finite after a step whose gradients a factor of the loss made overflow."""
KEPT = "scale that is kept over the scale in use"
"""What the scaler that is there to be saved says, relative to the one that trained."""
ROUNDED = "fraction of the weights that a resume changes"
"""How many weights are not what they were before they were saved."""

REFUSED = "error of the scaler"
"""What a scaler raises when it steps an optimizer of the parameters that the finding is about."""
EVALUATED = "precision of the evaluation"
"""The precision of matrix products in the evaluation, against that in training."""
BACKWARD_ERROR = "error of the backward pass"
"""What the backward pass of a custom function raises outside of the region of its forward pass."""
ENTERED = "precision of a matrix product in the region"
"""Whether entering a region, or decorating with it, raises, and the precision that operations get."""

ON_OLD_GPU = "bfloat16 on a GPU that emulates it"
"""What code that asks for bfloat16 in hardware, or should, is answered on a GPU that has it and on one that emulates it, or the
precision that its region gets there."""

NON_FINITE = "non-finite points"
"""At how many points of a sweep the value or the gradient of the tensor expression around the finding is not finite,
although exact arithmetic on the same operands gives numbers that their dtypes hold."""
VALUE_ERROR = "worst relative error of the value"
"""The same; and where every point is finite, how far the value is from the exact one, at worst."""


@frozen
class Observable:
    """What to measure before and after a fix.

    A fix is confirmed when what is measured after it agrees with the reference, plain float32 training, and what is
    measured before it does not.

    Attributes:
        measure: one of the names above.
        tolerance: how far a measured value may be from the reference, relative to it.
        devices: the device types of the author's regions for which replays measure this faithfully; empty for any.
    """

    measure: str
    tolerance: float = 0.05
    devices: frozenset[str] = frozenset()
