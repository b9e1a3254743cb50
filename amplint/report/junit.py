"""JUnit's XML, which nearly every CI server shows: a test suite for each file with findings, a failed test for each finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from amplint.diagnostics import Diagnostic
from amplint.engine.severity import severity
from amplint.report.escape import printable
from amplint.report.places import file_place, portable
from amplint.report.view import View


def _xml(text: str) -> str:
    """A text of others in XML; in ASCII, so that no standard output has another encoding than the document says."""
    return escape(printable(text)).encode("ascii", "xmlcharrefreplace").decode()


def _attributes(**values: str) -> str:
    return "".join(f' {name}="{_xml(value)}"' for name, value in values.items())


def _counts(tests: int, failures: int, errors: int = 0) -> str:
    return _attributes(tests=str(tests), failures=str(failures), errors=str(errors))


def _case(one: Diagnostic, view: View) -> Iterator[str]:
    place = file_place(one.range, one.path, view)
    where = f"{place.row}:{place.column}" if place.column else str(place.row)
    path = portable(one.path)
    yield f"    <testcase{_attributes(name=f'{one.code} {one.name} ({where})', classname=path)}>\n"
    yield f"      <failure{_attributes(type=severity(one), message=f'{one.code} {one.message}')}>"
    said = (f"{path}:{where}", one.note, f"fix: {one.fix.title}" if one.fix else one.no_fix and f"no fix: {one.no_fix}")
    yield "\n".join(_xml(text) for text in said if text) + "</failure>\n"
    yield "    </testcase>\n"


def _unchecked(view: View) -> Iterator[str]:
    """A suite of what was not checked: its tests are in error."""
    yield f"  <testsuite{_attributes(name='not checked')}{_counts(len(view.unchecked), 0, len(view.unchecked))}>\n"
    for path, message in view.unchecked:
        yield f"    <testcase{_attributes(name='not checked', classname=portable(path) if path else 'amplint')}>\n"
        yield f"      <error{_attributes(type='not checked', message=message)}/>\n    </testcase>\n"
    yield "  </testsuite>\n"


def render(diagnostics: Sequence[Diagnostic], view: View) -> Iterator[str]:
    """The document; a run without findings is one test that has passed."""
    failed, errors = len(diagnostics), len(view.unchecked)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites{_attributes(name='amplint')}{_counts(max(failed + errors, 1), failed, errors)}>\n"
    for path, found in groupby(diagnostics, key=lambda diagnostic: diagnostic.path):
        here = list(found)
        yield f"  <testsuite{_attributes(name=portable(path))}{_counts(len(here), len(here))}>\n"
        for one in here:
            yield from _case(one, view)
        yield "  </testsuite>\n"
    if errors:
        yield from _unchecked(view)
    elif not diagnostics:
        yield f"  <testsuite{_attributes(name='amplint')}{_counts(1, 0)}>\n"
        yield f"    <testcase{_attributes(name='no findings', classname='amplint')}/>\n  </testsuite>\n"
    yield "</testsuites>\n"
