"""Reports of several runs put together to the one that a single run would have written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from amplint.engine.baseline import Baseline, BaselineError, is_baseline, read_baseline, written
from amplint.model.records import NamedTuple


class MergeError(Exception):
    """Reports that cannot be put together; the message is one line without the name of the file."""


class PartialReport(NamedTuple):
    """A report that was read: what kind it is of, in words, its name for messages, and what it holds."""

    kind: str
    name: str
    content: Any


def read_part(name: str, data: bytes) -> PartialReport:
    """A report, whatever it is.

    Args:
        name: what to call it in messages.
        data: its content.

    Raises:
        MergeError: it is none that can be put together with others.
    """
    try:
        document = json.loads(data)
    except RecursionError as error:
        raise MergeError("is no report of amplint") from error
    except ValueError:
        return PartialReport(_LINES, name, _lines(data))
    if isinstance(document, list) and all(isinstance(one, dict) for one in document):
        return PartialReport(_ARRAY, name, document)
    if is_baseline(document):
        try:
            return PartialReport(_BASELINE, name, read_baseline(data))
        except BaselineError as error:
            raise MergeError(str(error)) from error
    if isinstance(document, dict) and "runs" in document and "version" in document:
        return PartialReport(_SARIF, name, _runs(document))
    if isinstance(document, dict) and "code" in document:  # a single line of JSON
        return PartialReport(_LINES, name, [document])
    raise MergeError("is no report of amplint")


def put_together(parts: Sequence[PartialReport]) -> str:
    """The text of the report that reports make together; what several of them hold stands in it once.

    Raises:
        MergeError: they are not all of one kind.
    """
    whole = [part for part in parts if part.content or part.kind != _LINES]  # no findings are no lines, of any kind
    kind = whole[0].kind if whole else _LINES
    other = next((part for part in whole if part.kind != kind), None)
    if other is not None:
        raise MergeError(f"{whole[0].name} is {kind}, and {other.name} is {other.kind}")
    return _MERGES[kind]([part.content for part in whole])


def _lines(data: bytes) -> list[dict[str, Any]]:
    try:
        records = [json.loads(line) for line in data.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise MergeError("is no report of amplint") from error
    if not all(isinstance(one, dict) and "code" in one for one in records):
        raise MergeError("is no report of amplint")
    return records


def _runs(document: dict[str, Any]) -> dict[str, Any]:
    runs = document["runs"]
    try:
        for run in runs:
            rules = run["tool"]["driver"].get("rules", [])
            for result in run["results"]:
                assert isinstance(result["ruleId"], str)
            assert all(isinstance(rule["id"], str) for rule in rules)
    except (KeyError, TypeError, AttributeError, AssertionError) as error:
        raise MergeError("is no SARIF of amplint") from error
    return document


def _without_repeats(records: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({json.dumps(one, sort_keys=True): one for one in records}.values())


def _records(contents: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return sorted(_without_repeats(one for each in contents for one in each), key=_order)


def _order(record: dict[str, Any]) -> tuple[list[str], int, int, int, str, str]:
    """Where a finding stands in a report: by file, place, code and message, whichever JSON it is."""
    location = _table(record.get("location"))
    begin = _table(location.get("lines")).get("begin")
    return (
        _text(record.get("filename") or location.get("path")).split("/"),
        _number(record.get("cell")),
        _number(location.get("row") or begin),
        _number(location.get("column")),
        _text(record.get("code") or record.get("check_name")),
        _text(record.get("message") or record.get("description")),
    )


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _merged_array(contents: Sequence[Any]) -> str:
    return json.dumps(_records(contents), indent=2) + "\n"


def _merged_lines(contents: Sequence[Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in _records(contents))


def _merged_baseline(contents: Sequence[Baseline]) -> str:
    together: Baseline = {}
    for baseline in contents:
        for path, entries in baseline.items():
            together[path] = together[path] | entries if path in together else entries
    return written(together)


def _merged_sarif(contents: Sequence[dict[str, Any]]) -> str:
    runs = [run for document in contents for run in document["runs"]]
    if not runs:
        return json.dumps(contents[0], indent=2) + "\n"
    rules = {rule["id"]: rule for run in runs for rule in run["tool"]["driver"].get("rules", [])}
    codes = sorted(rules)
    found = [result for run in runs for result in run["results"]]
    for result in found:
        # Minus one is SARIF's word for a rule that is not listed.
        result["ruleIndex"] = codes.index(result["ruleId"]) if result["ruleId"] in rules else -1
    results = _without_repeats(iter(found))
    whole = {**runs[0], "results": sorted(results, key=_sarif_order)}
    failed = _without_repeats(each for run in runs for each in run.get("invocations", ()))
    whole |= {"invocations": failed} if failed else {}
    whole["tool"] = {"driver": {**whole["tool"]["driver"], "rules": [rules[code] for code in codes]}}
    return json.dumps({**contents[0], "runs": [whole]}, indent=2) + "\n"


def _sarif_order(result: dict[str, Any]) -> tuple[list[str], int, int, str]:
    places = result.get("locations")
    first = _table(places[0]) if isinstance(places, list) and places else {}
    physical = _table(first.get("physicalLocation"))
    region = _table(physical.get("region"))
    path = _text(_table(physical.get("artifactLocation")).get("uri"))
    return path.split("/"), _number(region.get("startLine")), _number(region.get("startColumn")), result["ruleId"]


_ARRAY, _LINES, _SARIF, _BASELINE = "a JSON array", "JSON lines", "SARIF", "a baseline"
_MERGES: dict[str, Callable[[Sequence[Any]], str]] = {
    _ARRAY: _merged_array,
    _LINES: _merged_lines,
    _SARIF: _merged_sarif,
    _BASELINE: _merged_baseline,
}
