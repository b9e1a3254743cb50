"""A repair that is not the fix of the rule, where what is run stands for that fix: what the texts tell of the difference."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from amplint.diagnostics import Diagnostic, Fix
from amplint.engine.fixed_text import apply
from amplint.engine.registry import load_rules
from amplint.finding import told_once
from amplint.model.observables import (
    CHECKED,
    CONSTRUCTED,
    ENTERED,
    IN_REPLICA,
    INNER_GRADIENTS,
    KEPT,
    LEFT_ON,
    RESUMED,
    ROUNDED,
    WARNED,
)
from amplint.rule import File
from amplint.runtime.changes import Change, changes, changes_in, function_at
from amplint.runtime.criterion import Observation, Question
from amplint.runtime.experiments.amp_objects import within_construction
from amplint.runtime.experiments.amp_settings import are_alike, kept_settings, lost_regions, other_flags, other_halves
from amplint.runtime.experiments.kept_training import lost_scalers, new_defects, new_or_lost, regions_in
from amplint.runtime.experiments.saved_states import lost_states
from amplint.source import Source
from amplint.syntax.tree import Tree

SETTINGS = frozenset({CONSTRUCTED, ENTERED, IN_REPLICA, KEPT, LEFT_ON, WARNED})
"""What is about regions and scalers themselves: with a repair, all their settings are those that the author gave them."""
_WEIGHTED = re.compile(r"(Lazy)?(Linear|Bilinear|Conv|Embedding|LSTM|GRU|RNN|Transformer|PReLU)|\w*(Norm|Attention)")
"""The classes of layers with weights."""


def _own_fix(before: File, diagnostic: Diagnostic) -> File:
    """The file with the fix that the rule of a finding has for it; as it stands, where it has none.

    Args:
        before: the file as it stands.
        diagnostic: the finding; without the edits of its fix, where these are not known for this text.
    """
    fix = diagnostic.fix
    if fix is None or not fix.edits:
        fix = next((each.fix for each in _all_fixed(before, diagnostic) if each.range == diagnostic.range), None)
    return _with_fixes(before, [replace(diagnostic, fix=fix)])


def likest_fix(before: File, after: File, diagnostic: Diagnostic) -> File:
    """The file with the fix of a rule, or with all of its fixes, if that is more like a repair, which may mend many places.

    Args:
        before: the file as it stands.
        after: the file with the repair.
        diagnostic: the finding.
    """
    own = _own_fix(before, diagnostic)
    distance = len(_changes(own, after))
    every = _all_fixed(before, diagnostic) if distance else []
    if len(every) > 1:
        whole = _with_fixes(before, every)
        return whole if len(_changes(whole, after)) < distance else own
    return own


def _all_fixed(before: File, diagnostic: Diagnostic) -> list[Diagnostic]:
    """All that the rule of a finding has a fix for."""
    rule = next(rule for rule in load_rules() if rule.code == diagnostic.code)
    found = told_once(list(rule.check(before)))
    return [replace(diagnostic, range=each.range, fix=each.fix) for each in found if isinstance(each.fix, Fix)]


def _with_fixes(before: File, fixed: Sequence[Diagnostic]) -> File:
    text, _ = apply(before.source, fixed)
    return _read(replace(before.source, text=text), before.torch)


@lru_cache(maxsize=8)
def _read(source: Source, torch: tuple[int, int]) -> File:
    return File(Tree(source), torch)


def other_than_own(before: File, own: File, after: File) -> tuple[str, ...]:
    """The statements in which a repair is not the fix of the rule, each as one line; none where it changes nothing.

    Another spelling of the same regions and scalers is no difference.

    Args:
        before: the file as it stands.
        own: the file with the fix of the rule.
        after: the file with the repair.
    """
    if not changes(before.source.text, after.source.text):
        return ()
    return tuple(dict.fromkeys(each.text for each in _changes(own, after)))


def _changes(own: File, after: File) -> list[Change]:
    found = changes(own.source.text, after.source.text)
    if found and are_alike(own, after):
        return [each for each in found if not _is_spelling(each, own, after)]
    return found


def is_other_spelling(before: File, own: File, after: File) -> bool:
    """Whether a repair is the fix of the rule in other words.

    Args:
        before: the file as it stands.
        own: the file with the fix of the rule.
        after: the file with the repair.
    """
    texts = [each.source.text for each in (before, own, after)]
    is_other = texts[1] != texts[2] and all(changes(texts[0], each) for each in texts[1:])
    return is_other and not other_than_own(before, own, after)


def _is_spelling(change: Change, own: File, after: File) -> bool:
    """Whether a change lies within what makes a region or a scaler, or is one of the order of contexts."""
    old, new = change.before, change.after
    if isinstance(old, ast.With) and isinstance(new, ast.With):
        items = [sorted(ast.unparse(item) for item in each.items) for each in (old, new)]
        if items[0] == items[1]:
            return True
    return within_construction(change.old, own) and within_construction(change.new, after)


def in_patch(before: File, own: File, after: File, diagnostic: Diagnostic) -> tuple[tuple[str, ...], bool]:
    """The statements in which a patch is not the fix of the rule, in the functions that it or the finding is about.

    And whether the patch leaves all others alone, which do not count.

    Args:
        before: the file as it stands.
        own: the file with the fix of the rule.
        after: the file with the patch.
        diagnostic: the finding.
    """
    old, fixed = before.source.text, own.source.text
    meant = changes(old, fixed)
    homes = {function_at(old, diagnostic.range.start.row)}
    homes |= {function_at(old, each.before.lineno) for each in meant if each.before is not None}
    homes |= {function_at(fixed, each.after.lineno) for each in meant if each.after is not None}
    found = _changes(own, after)
    there = changes_in(found, fixed, after.source.text, homes)
    return tuple(dict.fromkeys(each.text for each in there)), len(there) == len(found)


def compare(before: File, own: File, after: File, measure: str) -> Iterator[Observation]:
    """What of defects is new, and what of mixed precision and training is lost, against the fix of the rule.

    Args:
        before: the file as it stands.
        own: the file with the fix of the rule.
        after: the file with the repair.
        measure: how the defect shows; where it is about regions and scalers themselves, all their settings are to be kept.
    """
    kept = kept_settings(own, after, measure in SETTINGS, may_switch_off=measure == CHECKED)
    is_island = measure == INNER_GRADIENTS and any(each.lowers for each in regions_in(after))
    yield from () if is_island else kept  # an inner gradient may be computed in float32, which scales nothing
    yield from lost_regions(own, after)
    yield from lost_states(own, after) if measure in (RESUMED, ROUNDED) else ()
    yield from _other_sizes(own, after)
    yield from lost_scalers(own, after) if measure != CHECKED else ()
    yield from new_or_lost(before, own, after)


def _other_sizes(own: File, after: File) -> Iterator[Observation]:
    """Whether layers are made with the numbers that the author gave them."""
    mine, theirs = (Counter(_layers(ast.parse(each.source.text))) for each in (own, after))
    lost, new = mine - theirs, theirs - mine
    for name, sizes in new:
        others = [each for each in lost if each[0] == name and len(each[1]) == len(sizes)]
        yield Observation(Question.MEANT, f"`{name}({', '.join(sizes)})`", True, not others)


def _layers(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The layers with weights that a file makes with nothing but numbers, and these."""
    for call in (each for each in ast.walk(tree) if isinstance(each, ast.Call)):
        name = ast.unparse(call.func)
        if _WEIGHTED.match(name.rpartition(".")[2]) and all(isinstance(each, ast.Constant) for each in call.args):
            yield name, tuple(ast.unparse(each) for each in call.args)


def beside_expression(before: File, own: File, after: File) -> tuple[list[Observation], tuple[str, ...]]:
    """What the texts tell of a repair where an expression is computed, and what keeps a verdict from being "confirmed".

    That is what happens to regions, scalers and training around it, and to the layers that it is computed from.

    Args:
        before: the file as it stands.
        own: the file with the fix of the rule.
        after: the file with the repair.
    """
    found = changes(own.source.text, after.source.text)
    if not found:
        return [], ()
    told = [*kept_options(own, after), *new_or_lost(before, own, after)]
    layers = [each.text for each in found if any(map(_makes_layers, (each.before, each.after)))]
    return told, (*other_halves(own, after), *other_flags(own, after), *layers)


def beside_path(before: File, own: File, after: File) -> list[Observation]:
    """What the texts tell of a repair where a path is walked, which knows neither options nor what is beside it.

    Args:
        before: the file as it stands.
        own: the file with the fix of the rule.
        after: the file with the repair.
    """
    return [*kept_options(own, after), *new_defects(before, own, after)]


def kept_options(own: File, after: File) -> list[Observation]:
    """Whether a repair leaves regions and scalers on, and under the options of the author, as the fix of the rule does.

    Args:
        own: the file with the fix of the rule.
        after: the file with the repair.
    """
    return [*kept_settings(own, after, False, may_switch_off=False), *lost_scalers(own, after)]


def _makes_layers(statement: ast.stmt | None) -> bool:
    """Whether a statement makes layers with weights, of which an expression does not tell."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return False
    called = [ast.unparse(each.func) for each in ast.walk(statement) if isinstance(each, ast.Call)]
    classes = [name.rpartition(".")[2] for name in called if "nn" in name.split(".")]
    return any(map(_WEIGHTED.match, classes))
