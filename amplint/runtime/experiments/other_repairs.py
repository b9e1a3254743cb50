"""A repair that is not the fix of the rule, where what is run stands for that fix: what the texts tell of the difference."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import attrgetter

import libcst as cst

from amplint.diagnostics import Diagnostic
from amplint.engine.fixer import apply
from amplint.facts.scalers import Scalers
from amplint.finding import told_once
from amplint.lowering.graph_tools import events_in
from amplint.model.events import Backward, Clip, OptimizerStep, ScalerStep, SchedulerStep
from amplint.rule import File
from amplint.runtime.changes import Change, changes, changes_in, function_at
from amplint.runtime.criterion import Observation, Question
from amplint.runtime.experiments.rule_recheck import findings
from amplint.syntax.tree import Tree

_PARTS: Mapping[str, tuple[type, ...]] = {
    "the backward pass": (Backward,),
    "clipping": (Clip,),
    "the step of an optimizer": (ScalerStep, OptimizerStep),
    "the step of a scheduler": (SchedulerStep,),
}
"""Of what training is made; the words say what is lost."""


def own_fix(before: File, diagnostic: Diagnostic) -> File:
    """The file with the fix that the rule of a finding has for it; as it stands, where it has none.

    Args:
        before: the file as it stands.
        diagnostic: the finding; without its fix, where somebody else has repaired it.
    """
    again = told_once(findings(before, diagnostic.code))
    fix = diagnostic.fix or next((each.fix for each in again if each.range == diagnostic.range), None)
    text, _ = apply(before.source, [replace(diagnostic, fix=fix)])
    return File(Tree(replace(before.source, text=text)), torch=before.torch)


def differing(before: File, own: File, after: File) -> tuple[str, ...]:
    """The statements in which a repair is not the fix of the rule, each as one line; none where it changes nothing.

    Args:
        before: the file as it stands.
        own: the file with the fix of the rule.
        after: the file with the repair.
    """
    if not changes(before.source.text, after.source.text):
        return ()
    return tuple(dict.fromkeys(each.text for each in changes(own.source.text, after.source.text)))


def unrelated(before: File, after: File, own: File, diagnostic: Diagnostic) -> tuple[str, ...]:
    """The statements that a patch changes for other reasons in the functions that a finding, or the fix of its rule, is about.

    They name nothing of what the finding names or gives a value to, or the fix puts in. What the patch does to other functions
    does not count.

    Args:
        before: the file as it stands.
        after: the file with the patch.
        own: the file with the fix of the rule.
        diagnostic: the finding.
    """
    old, new, fixed = (file.source.text for file in (before, after, own))
    meant = changes(old, fixed)
    homes = {function_at(old, diagnostic.range.start.row)}
    homes |= {function_at(old, each.before.lineno) for each in meant if each.before is not None}
    homes |= {function_at(fixed, each.after.lineno) for each in meant if each.after is not None}
    put_in, there = ({word for each in meant for word in _words(part(each))} for part in (_NEW, _OLD))
    line = before.source.line(diagnostic.range.start.row)
    said = [*re.findall("`([^`]*)`", diagnostic.message), line.partition("=")[0] if " = " in line else ""]
    quoted = {word for text in said for word in _WORD.findall(text)}
    named = {word for word in quoted | put_in - there if len(word) >= _TELLING}
    found = changes_in(changes(old, new), old, new, homes)
    return tuple(dict.fromkeys(each.text for each in found if not any(word in _written(each) for word in named)))


_WORD = re.compile(r"[^\W\d]\w*")
_TELLING = 5
"""Letters that a name has at least which tells what a statement is about."""
_OLD, _NEW = attrgetter("old"), attrgetter("new")


def _words(node: ast.AST | None) -> list[str]:
    return [] if node is None else _WORD.findall(ast.unparse(node))


def _written(change: Change) -> str:
    return " ".join(ast.unparse(each) for each in (change.old, change.new) if each is not None)


def compare(own: File, after: File) -> Iterator[Observation]:
    """What of defects is new, and what of mixed precision and training is lost, against the fix of the rule.

    Args:
        own: the file with the fix of the rule.
        after: the file with the repair.
    """
    mine, theirs = ({each.hazard.kind for each in file.analysis.hazards} for file in (own, after))
    for kind in sorted(theirs - mine):
        yield Observation(Question.NEW, f"the defect {kind}", True, False)
    left = set(_what_runs(after))
    for part in sorted(set(_what_runs(own))):
        yield Observation(Question.LOST, part, True, part in left)


def _what_runs(file: File) -> Iterator[str]:
    """Scalers, regions, and the parts of training in a file, in words."""
    if any(facts.enabled != "no" for _, facts in file.fact(Scalers).made):
        yield "a scaler that is on"
    entered = [item.item for item in file.tree.find(cst.WithItem)]
    for expression in (*entered, *(each.decorator for each in file.tree.find(cst.Decorator))):
        region = file.contexts.of(expression)
        if region is not None and region.lowers:
            yield f"autocast in {region.dtype} for {region.device!r} (enabled: {region.enabled})"
    for function in file.analysis.functions.values():
        for event in events_in(function.body):
            yield from (words for words, kind in _PARTS.items() if isinstance(event, kind))
