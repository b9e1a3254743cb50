"""Reports as JSON values and back: short lists, no names, nothing that could run code when it is read."""

from __future__ import annotations

import dataclasses
from typing import Any

from amplint.diagnostics import (
    Applicability,
    Diagnostic,
    Edit,
    FileReport,
    Fix,
    Footing,
    Partly,
    Position,
    Range,
    Related,
)
from amplint.model.caller_contexts import (
    AskedObject,
    CallerContext,
    CallManner,
    ResultElsewhere,
    Target,
    ToOthers,
)
from amplint.model.events import Region


class Damaged(Exception):
    """The value is no encoded report."""


def encode_report(report: FileReport) -> list[Any]:
    """A report without its path and error, as lists, strings and numbers."""
    partly = [list(each) for each in report.partly]
    gives = [_to_others(each) for each in report.gives]
    return [
        sorted(report.facts),
        [_diagnostic(diagnostic) for diagnostic in report.diagnostics],
        partly,
        gives,
        report.awaits,
    ]


def decode_report(path: str, value: Any, footing: Footing) -> FileReport:
    """The report that was encoded, as one on `path`.

    Args:
        path: the path as the user shall see it now.
        value: what `encode_report` made, through JSON or not.
        footing: what the report rests on.

    Raises:
        Damaged: the value was not made by `encode_report`.
    """
    try:
        facts, diagnostics, partly, gives, awaits = value
        found = tuple(_read_diagnostic(path, one) for one in diagnostics)
        short = tuple(Partly(_number(row), _text(name), _text(how)) for row, name, how in partly)
        contexts = tuple(map(_read_to_others, gives))
        said = frozenset(map(_text, facts))
        return FileReport(path, found, said, "", footing, short, contexts, awaits=_text(awaits))
    except (TypeError, ValueError, AttributeError) as error:
        raise Damaged from error


def encode_footing(footing: Footing) -> list[Any] | None:
    """A footing as lists and strings; None for an empty one."""
    return [list(map(list, footing.files)), list(map(list, footing.absent))] if any(footing) else None


def decode_footing(value: Any) -> Footing:
    """The footing that was encoded; None is an empty one.

    Raises:
        Damaged: the value was not made by `encode_footing`.
    """
    if value is None:
        return Footing()
    try:
        files, absent = value
        found = tuple((_text(path), _text(digest)) for path, digest in files)
        return Footing(found, tuple((_text(folder), tuple(map(_text, names))) for folder, names in absent))
    except (TypeError, ValueError) as error:
        raise Damaged from error


def _diagnostic(diagnostic: Diagnostic) -> list[Any]:
    related = [[one.message, one.path, _range(one.range)] for one in diagnostic.related]
    return [
        diagnostic.code, diagnostic.name, diagnostic.message, _range(diagnostic.range), diagnostic.note, related,
        _fix(diagnostic.fix), sorted(diagnostic.needs), diagnostic.no_fix, diagnostic.severity,
    ]  # fmt: skip


def _read_diagnostic(path: str, value: Any) -> Diagnostic:
    code, name, message, place, note, related, fix, needs, no_fix, severity = value
    texts = (_text(code), _text(name), _text(message))
    others = tuple(Related(_text(text), _read_range(where), _text(file)) for text, file, where in related)
    rest = path, _text(no_fix), _text(severity)
    needed = frozenset(map(_text, needs))
    return Diagnostic(*texts, _read_range(place), _text(note), others, _read_fix(fix), needed, *rest)


def _range(place: Range) -> list[int]:
    start, end = place.start, place.end
    return [*start, *end]


def _read_range(value: Any) -> Range:
    numbers = list(map(_number, value))
    half = len(Position._fields)
    start, end = Position(*numbers[:half]), Position(*numbers[half:])
    if not (len(numbers) == 2 * half and 1 <= start.row and 1 <= start.column and start.offset <= end.offset):
        raise ValueError(numbers)
    return Range(start, end)


def _fix(fix: Fix | None) -> list[Any] | None:
    if fix is None:
        return None
    return [fix.title, fix.applicability.value, [[edit.start, edit.end, edit.replacement] for edit in fix.edits]]


def _read_fix(value: Any) -> Fix | None:
    if value is None:
        return None
    title, applicability, edits = value
    found = tuple(Edit(_number(start), _number(end), _text(text)) for start, end, text in edits)
    return Fix(_text(title), found, Applicability(applicability))


def _to_others(told: ToOthers) -> list[Any]:
    if isinstance(told, AskedObject):
        return [*told]
    if isinstance(told, ResultElsewhere):
        return [_way(told.way), list(told.shapes), told.sure]
    return [
        _way(told.way),
        told.loss,
        told.caller,
        told.row,
        told.column,
        told.asks,
        told.end_row,
        told.end_column,
        told.under,
        told.normalised,
    ]


def _read_to_others(value: Any) -> ToOthers:
    if len(value) == len(AskedObject._fields) and all(type(each) is str for each in value):
        return AskedObject(*value)
    way, *rest = value
    if len(rest) == 2:
        shapes, sure = rest
        return ResultElsewhere(_read_way(way), tuple(map(_as_tuples, shapes)), bool(sure))
    loss, caller, row, column, asks, end_row, end_column, under, normalised = rest
    target, region, differentiates, arguments = _read_way(way)
    place = _text(caller), _number(row), _number(column)
    end = _number(end_row), _number(end_column)
    return CallerContext(
        target, region, differentiates, bool(loss), arguments, *place, bool(asks), *end, bool(under), bool(normalised)
    )


def _way(way: CallManner) -> list[Any]:
    region = None if way.region is None else [*dataclasses.astuple(way.region)]
    return [[*way.target], region, way.differentiates, way.arguments]


def _read_way(value: Any) -> CallManner:
    (file, name, made, method, switch, given, lookup), region, differentiates, arguments = value
    looked_up = _text(method), _text(switch), _as_tuples(given), _text(lookup)
    target = Target(_text(file), _text(name), bool(made), *looked_up)
    device, dtype, enabled, cached, widens = ("", "", "", True, False) if region is None else region
    texts = _text(device), _text(dtype), _text(enabled)
    entered = None if region is None else Region(*texts, bool(cached), bool(widens))
    return CallManner(
        target, entered, bool(differentiates), tuple((_text(key), _as_tuples(shape)) for key, shape in arguments)
    )


def _as_tuples(value: Any) -> Any:
    """Lists as the tuples that they were."""
    return tuple(map(_as_tuples, value)) if type(value) is list else value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise ValueError(value)
    return value


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**62:
        raise ValueError(value)
    return value
