"""What a run of training is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from amplint.model import events
from amplint.runtime.training.iterations import Rounds
from amplint.runtime.training.path_facts import Clipped
from amplint.runtime.training.toy_problem import ToyProblem

Alteration = Callable[[torch.Tensor], torch.Tensor]
"""What a repair puts around a loss."""


@dataclass(frozen=True)
class TrainingSetup:
    """What a run of training is given, with AMP and without.

    Attributes:
        problem: nets and losses.
        objects: how the code makes the objects that events name.
        rounds: which iteration it is, kept by whoever tells of the events.
        feeds: the values that losses are computed from; others are not computed.
        clipped: for each clip of the path, whose gradients it is taken for, where its parameters do not tell.
        unit: the author's limits of clips are in units of this, so that they bind: gradients here are small.
        alterations: what a repair does to the losses at some sites.
        keeps_graphs: whether a loss may be propagated again: a loop over losses meets the same one, where the code does not.
        cleared: whether a caller out of sight clears gradients after each step: nobody in sight does.
    """

    problem: ToyProblem
    objects: Mapping[str, events.ObjectFacts]
    rounds: Rounds
    feeds: frozenset[str]
    clipped: Clipped
    cleared: bool
    unit: float
    alterations: Mapping[int, Alteration] = field(default_factory=dict)
    keeps_graphs: bool = True
