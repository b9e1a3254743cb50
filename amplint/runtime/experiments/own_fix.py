"""What a template says of a repair: it stands for amplint's own fix, and for nothing that differs from it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from amplint.diagnostics import Diagnostic
from amplint.engine.registry import load_rules
from amplint.rule import Confidence, File, Severity
from amplint.runtime.changes import Change, changes
from amplint.runtime.criterion import Observation, Question
from amplint.runtime.experiments.amp_settings import kept_settings, unlike, within_construction
from amplint.runtime.experiments.rule_recheck import with_own_fix
from amplint.syntax.tree import Tree


@dataclass(frozen=True)
class BesideOwnFix:
    """A file with a repair, beside the same file with amplint's own fix.

    Attributes:
        own: the file with amplint's own fix; as it stands where there is none.
        after: the file with the repair.
        observations: whether mixed precision is in force where it is with amplint's own fix, and nothing new is found; of a
            patch, nothing.
        beyond: the statements in which the two differ, each as one line; spellings of regions and scalers aside.
        is_spelling: whether they differ in such spellings at most, and not in what they import.
    """

    own: File
    after: File
    observations: tuple[Observation, ...]
    beyond: tuple[str, ...]
    is_spelling: bool


def beside_own_fix(
    before: File, after: File, diagnostic: Diagnostic, is_about_settings: bool, may_switch_off: bool
) -> BesideOwnFix:
    """Hold a repair beside amplint's own fix.

    Args:
        before: the file as it stands.
        after: the file with the repair.
        diagnostic: the finding.
        is_about_settings: whether every setting of regions and scalers must be what it is with amplint's own fix.
        may_switch_off: whether a scaler may be switched off.
    """
    source = with_own_fix(before, diagnostic)
    if source == after.source:
        return BesideOwnFix(after, after, (), (), True)
    own = File(Tree(source), torch=(2, 3))
    found = changes(source.text, after.source.text)
    is_same = unlike(own, after) == ([], [])
    imports = [each for each in found if isinstance(each.after or each.before, (ast.Import, ast.ImportFrom))]
    if is_same:
        found = [each for each in found if not _is_spelling(each, after)]
    beyond = tuple(dict.fromkeys(each.text for each in found))
    told: tuple[Observation, ...] = ()
    if diagnostic.fix is not None:  # a patch may do more in other places, which are told apart
        kept = kept_settings(own, after, is_about_settings, may_switch_off)
        told = (*kept, *_new_findings(before, own, after))
    return BesideOwnFix(own, after, told, beyond, is_same and not (beyond or imports))


def _is_spelling(change: Change, after: File) -> bool:
    """Whether a change is another spelling of the same: in what makes a region, in its imports, in the order of contexts."""
    old, new = change.before, change.after
    if isinstance(new or old, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(old, ast.With) and isinstance(new, ast.With):
        items = [sorted(ast.unparse(item) for item in each.items) for each in (old, new)]
        if items[0] == items[1]:
            return True
    return within_construction(change.new, after)


def _new_findings(before: File, own: File, after: File) -> Iterator[Observation]:
    """What is wrong in a file with a repair that is not without it, nor with amplint's own fix."""
    rules = [
        rule
        for rule in load_rules()
        if rule.default and rule.confidence is Confidence.HIGH and rule.severity is not Severity.INFO
    ]
    counts = [Counter(rule for rule in rules for _ in rule.check(file)) for file in (before, own, after)]
    for rule, count in counts[2].items():
        if count > max(counts[0][rule], counts[1][rule]):
            yield Observation(Question.NEW, f"{rule.code} ({rule.name})", True, False)
