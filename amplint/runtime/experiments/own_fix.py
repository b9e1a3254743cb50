"""What a template says of a repair: it stands for amplint's own fix, and for nothing that differs from it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from amplint.diagnostics import Diagnostic
from amplint.engine.fixer import apply
from amplint.engine.registry import load_rules
from amplint.rule import Confidence, File, Severity
from amplint.runtime.changes import Change, changes, changes_in, function_at
from amplint.runtime.criterion import Observation, Question
from amplint.runtime.experiments.amp_settings import kept_settings, unlike, within_construction
from amplint.syntax.tree import Tree

_WORD = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"`([^`]*)`")
_TELLING = 5
"""Letters that a name has at least which tells what a statement is about."""
_COMMON = frozenset(("torch", "optimizer", "model"))
"""Longer ones that say little about that."""


@dataclass(frozen=True)
class BesideOwnFix:
    """A file with a repair, beside the same file with amplint's own fix.

    Attributes:
        own: the file with amplint's own fix; that with the patch, of a patch.
        after: the file with the repair.
        observations: whether mixed precision is in force where it is with amplint's own fix, and nothing new is found.
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
    source = replace(before.source, text=apply(before.source, [diagnostic])[0])
    if source == after.source:
        return BesideOwnFix(after, after, (), (), True)
    own = File(Tree(source), torch=(2, 3))
    found = changes(source.text, after.source.text)
    is_same = unlike(own, after) == ([], [])
    imports = [each for each in found if isinstance(each.after or each.before, (ast.Import, ast.ImportFrom))]
    if is_same:
        found = [each for each in found if not _is_spelling(each, after)]
    beyond = tuple(dict.fromkeys(each.text for each in found))
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


def beside_patch(before: File, after: File, diagnostic: Diagnostic) -> BesideOwnFix:
    """Hold a patch beside the finding: `beyond` is what it changes for other reasons, as far as the finding is concerned.

    Those are the statements of the function that it stands in, and of those in which amplint's own fix would do something, that
    name nothing of what the fix, or the finding, names.

    Args:
        before: the file as it stands.
        after: the file with the patch.
        diagnostic: the finding, with amplint's own fix if there is one.
    """
    old, new = before.source.text, after.source.text
    edits = diagnostic.fix.edits if diagnostic.fix is not None else ()
    rows = [diagnostic.range.start.row, *(before.source.position(each.start).row for each in edits)]
    found = changes_in(changes(old, new), old, new, {function_at(old, row) for row in rows} - {""})
    line = before.source.line(rows[0])
    said = [*_QUOTED.findall(diagnostic.message), line.partition("=")[0] if " = " in line else ""]
    named = {*_words([*(each.replacement for each in edits), *said])}
    beyond = tuple(dict.fromkeys(each.text for each in found if not _is_about(each, named)))
    return BesideOwnFix(after, after, (), beyond, False)


def _is_about(change: Change, named: Collection[str]) -> bool:
    """Whether a change names what is named, or a part of it: a `scaler` is about a `GradScaler`."""
    written = [ast.unparse(each) for each in (change.old, change.new) if each is not None]
    return any(one in other or other in one for one in _words(written) for other in named)


def _words(texts: Iterable[str]) -> set[str]:
    words = (word.lower() for text in texts for word in _WORD.findall(text))
    return {word for word in words if len(word) >= _TELLING} - _COMMON
