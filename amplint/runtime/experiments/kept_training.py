"""What of defects is new with a repair, and what of mixed precision and training is gone, as far as two texts tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

import libcst as cst

from amplint.engine.registry import load_rules
from amplint.facts.rebuilt_scalers import RebuiltScalers
from amplint.facts.scalers import Scalers
from amplint.lowering.graph_tools import events_in
from amplint.model.events import NO_GRAD, Backward, Clip, OptimizerStep, Region, ScalerStep, SchedulerStep
from amplint.model.observables import WARNED
from amplint.rule import Confidence, File, Rule, Severity
from amplint.runtime.criterion import Observation, Question

_NOTHING = "nothing"
_BACKWARD = "the backward pass"
_NO_GRADIENTS = "a place without gradients"
_PARTS: Mapping[str, tuple[type, ...]] = {
    _BACKWARD: (Backward,),
    "clipping": (Clip,),
    "the step of an optimizer": (ScalerStep, OptimizerStep),
    "the step of a scheduler": (SchedulerStep,),
}
"""Of what training is made; the words say what is lost."""


def new_or_lost(before: File, own: File, after: File) -> Iterator[Observation]:
    """Defects that neither the code as it stands has nor the fix of the rule leaves, and parts of training that are gone.

    Args:
        before: the file as it stands.
        own: the file with the fix of the rule.
        after: the file with the repair.
    """
    yield from new_defects(before, own, after)
    left, right = Counter(_what_runs(after)), Counter(_what_runs(own))
    again = left[_BACKWARD] > max(right[_BACKWARD], Counter(_what_runs(before))[_BACKWARD])
    yield Observation(Question.NEW, "another backward pass", True, not again)
    for part, count in sorted(right.items()):
        yield Observation(Question.LOST, part, True, left[part] >= (count if part == _NO_GRADIENTS else 1))
    regions = [each for each in regions_in(after) if each.lowers]
    for region in dict.fromkeys(each for each in regions_in(own) if each.lowers):
        words = f"autocast in {region.dtype} for {region.device!r} (enabled: {region.enabled})"
        yield Observation(Question.LOST, words, True, any(_may_be(each, region) for each in regions))


def new_defects(before: File, own: File, after: File) -> Iterator[Observation]:
    """Defects of which the rules are sure, and which neither the code as it stands has nor the fix of the rule leaves.

    Args:
        before: the file as it stands.
        own: the file with the fix of the rule.
        after: the file with the repair.
    """
    mine, theirs, new = map(_certain, (before, own, after))
    told = {rule.code for rule in mine}
    for rule, count in new.items():
        if count > max(mine[rule], theirs[rule]) and rule.yields_to not in told:
            yield Observation(Question.NEW, f"the defect {rule.name} ({rule.code})", True, False)


@lru_cache(maxsize=8)
def _certain(file: File) -> Counter[Rule]:
    """What the rules are sure of in a file, and how often; an old name that works is no defect."""
    rules = [rule for rule in load_rules() if rule.default and rule.confidence is Confidence.HIGH]
    return Counter(rule for rule in rules if not _is_about_names(rule) for _ in rule.check(file))


def _is_about_names(rule: Rule) -> bool:
    is_warning = rule.observable is not None and rule.observable.measure == WARNED
    return rule.severity is Severity.INFO and is_warning


def _what_runs(file: File) -> Iterator[str]:
    """Scalers, regions, and the parts of training in a file, in words."""
    if any(facts.enabled != "no" for _, facts in file.fact(Scalers).made):
        yield "a scaler that is on"
    yield from (_NO_GRADIENTS for region in regions_in(file) if region == NO_GRAD)
    for function in file.analysis.functions.values():
        for event in events_in(function.body):
            yield from (words for words, kind in _PARTS.items() if isinstance(event, kind))


def regions_in(file: File) -> Iterator[Region]:
    """The regions that `with` statements and decorators enter."""
    entered = [item.item for each in file.tree.find(cst.With) if not _is_empty(each.body) for item in each.items]
    for expression in (*entered, *(each.decorator for each in file.tree.find(cst.Decorator))):
        region = file.contexts.of(expression)
        if region is not None:
            yield region


def _is_empty(body: cst.BaseSuite) -> bool:
    """Whether a block does nothing."""
    lines = [
        part for each in body.body for part in (each.body if isinstance(each, cst.SimpleStatementLine) else [each])
    ]
    return all(isinstance(each, cst.Pass) for each in lines)


def _may_be(region: Region, wanted: Region) -> bool:
    """Whether a region is another one, as far as the text tells: a device that is read from a tensor may be any."""
    if region.enabled != wanted.enabled:
        return False
    if region.device == wanted.device:
        return region.dtype == wanted.dtype
    return region.device == "?" and region.dtype in (wanted.dtype, "half")


def lost_scalers(own: File, after: File) -> Iterator[Observation]:
    """The calls that are no longer given the scaler that the fix of the rule leaves them, and the scales that are forgotten.

    Args:
        own: the file with the fix of the rule.
        after: the file with the repair.
    """
    withheld = {name for name, role in _given(after) if role == _NOTHING}
    for name in sorted({name for name, role in _given(own) if role == "scaler"} & withheld):
        yield Observation(Question.LOST, f"the scaler that `{name}` is given", True, False)
    mine, theirs = (len(each.fact(RebuiltScalers).found) for each in (own, after))
    yield Observation(Question.LOST, "a loss scale that is remembered", True, theirs <= mine)


def _given(file: File) -> Iterator[tuple[str, str]]:
    """What functions are given as arguments, each with its role: a scaler, or nothing."""
    for call in file.tree.find(cst.Call):
        for place, arg in enumerate(call.args):
            name = f"{file.tree.text(call.func)}({arg.keyword.value if arg.keyword is not None else place})"
            is_none = isinstance(arg.value, cst.Name) and arg.value.value == "None"
            yield name, _NOTHING if is_none else file.roles.of(arg.value).role
