"""One file, from text to diagnostics."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amplint.diagnostics import Diagnostic, FileReport
from amplint.python_ast import gate
from amplint.python_ast.slicing import relevant_rows
from amplint.python_ast.walk import has_long_name, is_too_deep
from amplint.source import Source
from amplint.system import limits

if TYPE_CHECKING:
    import ast

    from amplint.engine.registry import RuleInfo
    from amplint.model.caller_contexts import ToOthers
    from amplint.rule import File, Rule

SYNTAX_ERROR = "AMP900"

_LINE = re.compile(r"\bline (\d+)\b")
_TOO_DEEP = "nested too deeply to be checked"
_TOO_LONG = "too long to be checked"
_LINE_WIDTH = 200
"""Characters that a line about a crash may have, with the name of the file."""


def lint_source(
    source: Source, rules: Sequence[Rule | RuleInfo], torch: tuple[int, int] = (2, 3), with_facts: bool = True
) -> FileReport:
    """Everything the rules find in one file, in order of place; suppression comments are not looked at here.

    A syntax error is a diagnostic (AMP900). A rule that crashes is the report's `error`, beside the findings of the others; a
    file that is nested too deeply, or costs more than a file may, has no findings.

    Args:
        source: the text, and where it lies.
        rules: those that run; of which only the `RuleInfo` is given are imported when the file turns out to need them.
        torch: the oldest PyTorch (major, minor) that the project supports.
        with_facts: whether the report has the facts that the file states to the whole run.
    """
    try:
        with limits.bounded():
            return _lint(source, rules, torch, with_facts)
    except limits.TooCostly as problem:
        return FileReport(source.path, error=f"{problem}; not checked")
    except limits.TextTooLong:
        return FileReport(source.path, error=_TOO_LONG)


def _lint(source: Source, rules: Sequence[Rule | RuleInfo], torch: tuple[int, int], with_facts: bool) -> FileReport:
    looking = [rule for rule in rules if not rule.amid or re.search(rule.amid, source.text)]
    triggers = {word for rule in looking for word in rule.triggers}
    keeps = {word for rule in rules for word in rule.keeps}
    try:
        module = gate.parse(source.text)
    except SyntaxError as error:
        return FileReport(source.path, (_syntax_error(source, error),))
    except gate.TooDeep:
        return FileReport(source.path, error=_TOO_DEEP)
    entered = source.place.names_entered if source.place else frozenset[str]()
    rows = relevant_rows(source, module, triggers, entered, keeps)
    if rows is not None and not rows:
        return FileReport(source.path)
    if is_too_deep(module, source.text):
        return FileReport(source.path, error=_TOO_DEEP)
    if has_long_name(module, source.text):
        return FileReport(source.path, error=_TOO_LONG)
    return _check(source, rows, module, rules, torch, with_facts)


def _check(
    source: Source,
    rows: list[int] | None,
    module: ast.Module,
    rules: Sequence[Rule | RuleInfo],
    torch: tuple[int, int],
    with_facts: bool,
) -> FileReport:
    import libcst  # not at the top: most files are settled before a parse, and libcst is slow to import

    from amplint.engine import driven
    from amplint.rule import File
    from amplint.syntax.tree import Tree

    found: list[Diagnostic] = []
    crashes: dict[str, Exception] = {}
    try:
        file = File(Tree(source, rows, module), torch)
        found += _found(file, rules, crashes)
        says = file.says | driven.stated(file) if with_facts else frozenset[str]()
        gives = _given(file, rules)
        if file.may_be_driven:
            known = {(each.code, each.range) for each in found}
            supposed = _found(File(Tree(source, rows, module), torch, supposing=True), rules, crashes)
            found += driven.needing(file, [each for each in supposed if (each.code, each.range) not in known])
    except libcst.ParserSyntaxError as error:
        row = error.raw_line if rows is None else rows[min(error.raw_line, len(rows)) - 1]
        return FileReport(source.path, error=f"LibCST cannot read row {row}: {error.message}")
    except RecursionError:
        return FileReport(source.path, error=_TOO_DEEP)
    ordered = tuple(sorted(found, key=lambda diagnostic: diagnostic.sort_key))
    report = FileReport(source.path, ordered, says, _told(crashes, source.path), file.footing, file.partly, gives)
    file.close()
    return report


def _given(file: File, rules: Sequence[Rule | RuleInfo]) -> tuple[ToOthers, ...]:
    """What the file asks others; also how it enters their functions, and what its own give back, if a rule wants to know that."""
    place = file.source.place
    if place is None or file.source.notebook is not None:
        return ()
    from amplint.facts.asked_objects import AskedObjects
    from amplint.facts.trial_code import Trials

    trials = file.fact(Trials)
    if trials.everywhere:
        return ()
    asked = file.fact(AskedObjects)
    if not place.entered and not any(rule.entered for rule in rules):
        return asked.found()
    from amplint.dtypes import Dtypes

    dtypes, text = file.fact(Dtypes), file.source.text
    uses = any(rule.entered and re.search(rule.entered, text) for rule in rules)
    # What a test gives a loss, in whatever precision, is no training.
    tests = [range(found.start.row, found.end.row + 1) for found in map(file.range, trials.tests)]
    contexts = (each for each in dtypes.contexts(uses) if not any(each.row in rows for rows in tests))
    return (*contexts, *dtypes.results, *asked.found(dtypes.unknown_losses))


def _found(file: File, rules: Sequence[Rule | RuleInfo], crashes: dict[str, Exception]) -> list[Diagnostic]:
    """What the rules find in a file; what crashes is noted down."""
    import libcst

    found: list[Diagnostic] = []
    for rule in _loaded(rules):
        limits.breathe()
        try:
            found.extend(list(rule.run(file)))
        except (RecursionError, libcst.ParserSyntaxError):
            raise  # it is for the text, whatever rule it is that gets there
        except Exception as error:  # a rule must not take the other rules and files down with it
            crashes[rule.code] = error
    return found


def _told(crashes: dict[str, Exception], path: str) -> str:
    """One line on the rules that crashed; several that did may have done so for one reason."""
    if not crashes:
        return ""
    (code, error), *others = crashes.items()
    more = f" and {len(others)} more" if others else ""
    return crash(f"rule {code}{more} crashed", error, path)


def crash(what: str, error: Exception, path: str) -> str:
    """One line that says what crashed, where in amplint or a rule pack, and how.

    It is short enough to be printed with the name of the file that was looked at.

    Args:
        what: what was at work, as the line begins: `rule AMP101 crashed`.
        error: what was raised.
        path: the file that was looked at.
    """
    import traceback  # only for what should never happen

    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {'/'.join(Path(frames[-1].filename).parts[-2:])}:{frames[-1].lineno}" if frames else ""
    text = f"{what}{place}: {type(error).__name__}: {' '.join(str(error)[:_LINE_WIDTH].split())}"
    room = max(_LINE_WIDTH - len(f"error: {path}: "), _LINE_WIDTH // 2)
    return text if len(text) <= room else f"{text[: room - 3]}..."


def _loaded(rules: Sequence[Rule | RuleInfo]) -> Iterator[Rule]:
    from amplint.engine.registry import load_rules
    from amplint.rule import Rule

    for rule in rules:
        yield rule if isinstance(rule, Rule) else next(one for one in load_rules() if one.code == rule.code)


def _syntax_error(source: Source, error: SyntaxError) -> Diagnostic:
    row = min(max(error.lineno or 1, 1), len(source.line_starts))
    column = min(max((error.offset or 1) - 1, 0), len(source.line(row)))
    start = source.inside_cell(source.offset(row, column))
    message = f"Syntax error: {_LINE.sub(lambda match: source.line_name(int(match[1])), error.msg)}"
    running = ".".join(map(str, sys.version_info[:2]))
    note = f"read by Python {running}, which runs amplint; newer syntax needs a newer one"
    return Diagnostic(
        SYNTAX_ERROR, "syntax-error", message, source.range(start, start), note, path=source.path,
        no_fix="only you can say what is meant",
    )  # fmt: skip
