"""The precision in which a model is evaluated, as the code stands and with the fix, against that of its training."""

from __future__ import annotations

from amplint.diagnostics import Diagnostic
from amplint.facts.forward_passes import ForwardPass, Forwards
from amplint.model import observables
from amplint.rule import File
from amplint.runtime.experiments.matmul_dtype import product_dtype
from amplint.runtime.measures.measurement import Figure, Measurement
from amplint.runtime.training.run_record import NotReplayable


def take(before: File, after: File, diagnostic: Diagnostic, *, device: str, seed: int) -> Measurement:
    """Multiply matrices in the regions around an evaluation.

    Raises:
        NotReplayable: the forward pass is not found again.
    """
    passes, counterparts = before.fact(Forwards).passes, after.fact(Forwards).passes
    places = [index for index, each in enumerate(passes) if _is_meant(before, each, diagnostic)]
    if not places or len(passes) != len(counterparts):
        raise NotReplayable("the forward pass is not found again")
    index = places[0]
    training = next(each for each in before.fact(Forwards).of_training(passes[index]) if each.entry is not None)
    dtypes = [_dtype(each, device) for each in (passes[index], counterparts[index], training)]
    return Measurement((Figure(observables.EVALUATED, *dtypes),))


def _is_meant(file: File, each: ForwardPass, diagnostic: Diagnostic) -> bool:
    """Whether a pass is the one that a finding speaks of: at its call, or at that of the helper that runs the model."""
    calls = (each.call, each.chain[each.evaluates]) if each.evaluates >= 0 else ()
    return any(file.range(call.func) == diagnostic.range for call in calls)


def _dtype(each: ForwardPass, device: str) -> str:
    return product_dtype(each.entry[0] if each.entry is not None else None, device)
