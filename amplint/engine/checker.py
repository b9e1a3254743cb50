"""One file under its settings: gate, rules, selection, suppression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from amplint.diagnostics import ALONE, Diagnostic, FileReport, Position, Range, holding
from amplint.engine.config import Settings
from amplint.engine.project_folders import project_around
from amplint.engine.registry import RuleInfo, rule_index
from amplint.engine.relevance import called_for, heeding, matters, suppresses
from amplint.engine.selection import (
    SYNTAX_ERROR,
    UNUSED_SUPPRESSION,
    active_codes,
    fixable_codes,
    names,
    rule_options,
    severities,
)
from amplint.engine.severity import is_at_least, severity
from amplint.facts.driving_facts import OF_A_PROJECT, with_place
from amplint.model.caller_contexts import ObjectElsewhere
from amplint.python_ast import gate
from amplint.source import FileLocation, InvalidNotebook, Source, is_notebook
from amplint.system.text_encoding import SourceError

if TYPE_CHECKING:
    from amplint.engine.run_imports import Surroundings
    from amplint.model.caller_contexts import FromElsewhere


_UNFIXABLE = "the settings want none for this rule"


def check_bytes(display: str, data: bytes, settings: Settings, path: Path, explicit: bool = False) -> FileReport:
    """Everything there is to say about a file of these bytes, selected and suppressed as its settings and comments want.

    Args:
        display: the path as the user shall see it.
        data: the content.
        settings: those that hold for the file.
        path: where it lies, for settings that depend on that.
        explicit: the user named it, so that its syntax is checked even when no word of AMP occurs.
    """
    wanted = matters(data, settings)
    if not wanted and not explicit:
        return FileReport(display)
    try:
        source = Source.from_bytes(display, data)
    except InvalidNotebook as error:
        return _invalid(display, str(error), settings, path)
    except SourceError as error:
        return FileReport(display, error=str(error))
    if not wanted and gate.is_python(source.text):
        return FileReport(display)
    return check_source(source, settings, path, rule_index() if wanted else ())


def check_entered(
    before: FileReport, data: bytes, settings: Settings, path: Path, entered: tuple[FromElsewhere, ...]
) -> FileReport:
    """The report on a file whose functions other files enter.

    Only the rules look at it again to which that makes a difference: those that ask how a file of these bytes is entered, or
    have found something in it; a file that does not matter for itself is looked at only by those that look for that reason alone.

    Args:
        before: the report on the file without these contexts.
        data: the content.
        settings: those that hold for the file.
        path: where it lies.
        entered: how its functions are entered.
    """
    try:
        source = Source.from_bytes(before.path, data)
    except SourceError:
        return replace(before, entered=entered)
    if before.error or any(diagnostic.code == SYNTAX_ERROR for diagnostic in before.diagnostics):
        return replace(before, entered=entered)
    own = matters(data, settings)
    told = [each for each in entered if isinstance(each, ObjectElsewhere)]
    if own and (suppresses(data) or not all(each.is_of_torch for each in told)):
        return check_source(source, settings, path, None, entered)
    rules = [rule for rule in heeding(data, before, losses=bool(told)) if own or rule.entered]
    # Callers change nothing about what the file states; a report that awaits something is on a file that was not parsed.
    report = check_source(source, settings, path, rules, entered, with_facts=not own or bool(before.awaits))
    if not own and (report.error or any(diagnostic.code == SYNTAX_ERROR for diagnostic in report.diagnostics)):
        return FileReport(before.path, entered=entered)
    codes = {rule.code for rule in rules}
    kept = (diagnostic for diagnostic in before.diagnostics if diagnostic.code not in codes)
    return replace(
        report,
        diagnostics=tuple(sorted((*kept, *report.diagnostics), key=lambda diagnostic: diagnostic.sort_key)),
        facts=before.facts | report.facts,
        footing=before.footing.joined(report.footing),
        partly=before.partly,
    )


def _invalid(display: str, why: str, settings: Settings, path: Path) -> FileReport:
    """The report on what is called a notebook and is none."""
    if SYNTAX_ERROR not in active_codes(settings, path, rule_index()):
        return FileReport(display)
    start = Position(1, 1, 0, 1, 1)
    message = f"Not a notebook: {why}"
    return FileReport(display, (Diagnostic(SYNTAX_ERROR, "syntax-error", message, Range(start, start), path=display),))


def check_source(
    source: Source,
    settings: Settings,
    path: Path,
    rules: Sequence[RuleInfo] | None = None,
    entered: tuple[FromElsewhere, ...] = (),
    with_facts: bool = True,
) -> FileReport:
    """As `check_bytes`, for text.

    Args:
        source: the text.
        settings: those that hold for the file.
        path: where it lies, for settings that depend on that.
        rules: those that may run; all of them when it is None.
        entered: how other files enter its functions.
        with_facts: whether the report has the facts that the file states to the whole run.
    """
    # Most files get no further than the gate.
    from amplint.engine.linter import lint_source
    from amplint.engine.suppression import suppress

    index = rule_index()
    active = active_codes(settings, path, index)
    running = [rule for rule in (index if rules is None else rules) if rule.code in active]
    if not entered:
        running = called_for(running, source.text.encode())
    report = lint_source(with_location(source, settings, path, entered), running, settings.torch, with_facts)
    if report.error and not report.diagnostics:
        return report
    selected = [diagnostic for diagnostic in report.diagnostics if diagnostic.code in active]
    opt_in = frozenset(rule.code for rule in index if not rule.default)
    kept = tuple(selected) if settings.ignore_noqa else suppress(source, selected, active, names(index), opt_in)
    if report.error:  # a comment may be there for a rule that crashed
        kept = tuple(diagnostic for diagnostic in kept if diagnostic.code != UNUSED_SUPPRESSION)
    return replace(report, diagnostics=_as_wanted(kept, settings, index), entered=entered)


def _as_wanted(
    diagnostics: tuple[Diagnostic, ...], settings: Settings, index: tuple[RuleInfo, ...]
) -> tuple[Diagnostic, ...]:
    """Findings with the severity that the settings give them, those that are bad enough, and without unwanted fixes."""
    given, repaired = severities(settings, index), fixable_codes(settings, index)
    if given:
        diagnostics = tuple(replace(each, severity=given.get(each.code, "")) for each in diagnostics)
    if settings.min_severity != Settings.min_severity:
        diagnostics = tuple(each for each in diagnostics if is_at_least(severity(each), settings.min_severity))
    return tuple(
        each if not each.fix or each.code in repaired else replace(each, fix=None, no_fix=_UNFIXABLE)
        for each in diagnostics
    )


def check_again(
    source: Source, settings: Settings, path: Path, entered: tuple[FromElsewhere, ...], facts: frozenset[str]
) -> FileReport:
    """The report on a text that fixes have changed, under what was known of the file before.

    Args:
        source: the text as it is now.
        settings: those that hold for the file.
        path: where it lies.
        entered: how other files enter its functions.
        facts: what the files of the run establish.
    """
    return withdraw(check_source(source, settings, path, entered=entered), facts)


def with_location(source: Source, settings: Settings, path: Path, entered: tuple[FromElsewhere, ...] = ()) -> Source:
    """A file that knows where it lies, so that what it imports from its own project can be followed.

    Args:
        source: the text.
        settings: those that hold for the file; they name wrappers, and the root of its project, where the file lies below it.
        path: where it lies.
        entered: how other files enter its functions.
    """
    wrappers = tuple((module, settings.root / file) for module, file in settings.wrappers)
    options = rule_options(settings, rule_index()) if settings.rules else ()
    root = settings.root if settings.root in path.parents else project_around(path.parent)
    return replace(source, place=FileLocation(path, root, wrappers, entered, options))


def resting_on(report: FileReport, fact: str) -> FileReport:
    """The report on a file that nobody would have parsed without some fact: all that is said of it needs that.

    Args:
        report: what was found in it.
        fact: the fact.
    """
    found = tuple(replace(each, needs=each.needs | {fact}) for each in report.diagnostics)
    return replace(report, diagnostics=found, facts=report.facts & {ALONE}, gives=())


def withdraw(report: FileReport, facts: frozenset[str], around: Surroundings | None = None) -> FileReport:
    """The report without the findings that need facts which no file of the run established.

    A notebook is a program of its own, and so is a file that trains without AMP, or that is trained so: what other files
    establish says nothing about them.

    Args:
        report: what was found in one file.
        facts: what the files of the run establish.
        around: where the file stands among the others; asked only where it makes a difference. None for a file alone.
    """
    around = around if not is_notebook(report.path) else None
    needs = frozenset(need for each in report.diagnostics for need in each.needs) - report.facts
    nearby = around.established(needs, facts) if around is not None else frozenset[str]()
    places = facts | nearby
    is_alone = is_notebook(report.path) or ALONE in report.facts
    if is_alone or (around is not None and needs & facts & OF_A_PROJECT and around.is_trained_without_amp):
        facts = report.facts
    facts = holding(facts | nearby)
    kept = tuple(
        diagnostic if diagnostic.needs <= report.facts else with_place(diagnostic, places)
        for diagnostic in report.diagnostics
        if diagnostic.needs <= facts
    )
    return report if kept == report.diagnostics else replace(report, diagnostics=kept)
