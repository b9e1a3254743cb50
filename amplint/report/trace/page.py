"""A traced run as one page of HTML that needs nothing but itself."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator, Sequence

from amplint.report.charts import scripts
from amplint.report.markup import escape, opening, prose
from amplint.report.trace.text import course_of, operand_in_words, outcome_of, passed_cells, range_in_words
from amplint.report.trace.timeline import timeline
from amplint.tracing.step_profile import StepProfile
from amplint.tracing.trace_record import FirstNonFinite, TraceRecord

_AROUND = 3
"""Lines of the source that are shown before and after one."""
_ROWS = 40
"""Rows of a table; the rest is told in a number."""


def render(record: TraceRecord) -> Iterator[str]:
    """The page, in pieces.

    Args:
        record: the run.
    """
    yield opening(f"amplint trace: {record.command}", scripts())
    yield from _top(record)
    if record.first is not None:
        yield from _story(record, record.first)
    chart = timeline(record)
    if chart:
        yield f"<h2>Steps</h2>\n<p>{prose(course_of(record))}</p>\n{chart}"
        if record.first is not None or record.defects:
            yield '<p class="note">Dashed: the first value that is not finite (red), a defect for the first time (orange). '
            yield "Triangles: every step with a defect.</p>"
    yield from _defects(record)
    yield from _skips(record)
    yield from _lost(record)
    if record.profile is not None:
        yield from _profile(record.profile)
    yield "</body>\n</html>\n"


def _top(record: TraceRecord) -> Iterator[str]:
    totals = record.totals
    yield f"<h1>amplint trace</h1>\n<p><code>{escape(record.command)}</code></p>\n"
    first = "none" if record.first is None else f"step {record.first.step}"
    defects = len(record.defects)
    tiles = [
        (str(totals.tried), "step" if totals.tried == 1 else "steps", ""),
        (str(totals.skipped), "skipped", "other" if totals.skipped else "good"),
        (first, "first value not finite", "bad" if record.first is not None else "good"),
        (
            str(defects),
            "defect seen" if defects == 1 else "defects seen",
            "bad" if defects else "good",
        ),
    ]
    items = "".join(f'<li class="{tone}"><b>{value}</b>{name}</li>' for value, name, tone in tiles)
    yield f'<ul class="totals">{items}</ul>\n'
    ended = record.stopped or record.error or f"exit code {record.exit_code}"
    facts = {"Device": record.device, "PyTorch": record.torch, "Ended": ended}
    facts |= {"Rank": record.rank} if record.rank else {}
    yield "<dl>" + "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts.items()) + "</dl>\n"
    for warning in record.warnings:
        yield f'<article class="bad"><span class="badge bad">warning</span>{prose(warning)}</article>\n'


def _story(record: TraceRecord, first: FirstNonFinite) -> Iterator[str]:
    """From the last finite values to inf or NaN, and to what came of it."""
    direction = "backward" if first.backward else "forward"
    where = f" in <code>{escape(first.module)}</code> ({escape(first.kind)})" if first.module else ""
    what = f"<code>{escape(first.operation)}</code>" if first.operation else prose(first.what)
    yield f'<h2>How it came to inf or NaN<small>step {first.step}, {direction} pass</small></h2>\n<ol class="story">\n'
    if first.before:
        rows = [(one.module, one.kind, *passed_cells(one)) for one in first.before]
        table = html_table(("Module", "Class", "Was given", "Gave"), rows)
        yield f"<li>These modules ran before it; the largest value that each was given, and gave:{table}</li>\n"
    if first.operands:
        given = "".join(f"<li>{prose(operand_in_words(one))}</li>" for one in first.operands)
        yield f"<li>The last values before it were these:<ul>{given}</ul></li>\n"
    gave = f"<b>{escape(range_in_words(first.result))}</b>, at {escape(first.place)}"
    yield f"<li>{what}{where} gave {gave}:{_source(first.place)}</li>\n"
    page = f" <code>amplint explain {escape(first.rule)}</code> says more." if first.rule else ""
    yield f"<li>Why: <b>{escape(first.why)}</b>.{page}</li>\n"
    if outcome := outcome_of(record):
        names = next(one.nonfinite for one in record.steps if one.number == first.step)
        held = f", since gradients were not finite in {', '.join(names)}" if names else ""
        yield f"<li>In the end {escape(outcome + held)}.</li>\n"
    yield "</ol>\n"


def _source(place: str) -> str:
    """The lines around a place; empty where the file cannot be read any more."""
    file, _, line = place.rpartition(":")
    if not line.isdigit() or not linecache.getline(file, int(line)):
        return ""
    here, lines = int(line), linecache.getlines(file)
    shown = list(range(max(here - _AROUND, 1), min(here + _AROUND, len(lines)) + 1))
    for end in (0, -1):
        while not lines[shown[end] - 1].strip():
            del shown[end]
    return f"<pre>{''.join(_line(number, lines[number - 1], number == here) for number in shown)}</pre>"


def _line(number: int, text: str, is_here: bool) -> str:
    return f"<span{' class=here' if is_here else ''}>{number:5}  {escape(text.rstrip())}</span>"


def _defects(record: TraceRecord) -> Iterator[str]:
    if not record.defects:
        return
    yield "<h2>Defects that happened</h2>\n"
    for one in record.defects:
        how = "found by reading, too" if one.read else "not found by reading"
        times = "once" if one.times == 1 else f"{one.times} times"
        yield (
            f'<article class="bad"><span class="badge bad">{escape(one.code)}</span><h3 class="place">{escape(one.place)}</h3>\n'
            f'<p>{prose(one.message)}<br><span class="note">{times}, first in step {one.step}; {how}</span></p>'
            f"{_source(one.place)}</article>\n"
        )


def _skips(record: TraceRecord) -> Iterator[str]:
    skipped = [step for step in record.steps if not step.taken]
    if skipped:
        yield "<h2>Steps that were skipped</h2>\n"
        rows = [(str(one.number), f"{one.scale or 0:g}", ", ".join(one.nonfinite), one.because) for one in skipped]
        yield html_table(("Step", "Scale", "Not finite in", "Because"), rows, record.totals.skipped)


def _lost(record: TraceRecord) -> Iterator[str]:
    if record.lost:
        yield "<h2>Gradients that float16 makes zero</h2>\n"
        rows = [(one.module or "outside of modules", one.place, f"{one.share:.0%}") for one in record.lost]
        yield html_table(("Module", "Line", "Share lost"), rows)


def _profile(profile: StepProfile) -> Iterator[str]:
    total = sum(one.seconds for one in profile.operations) + sum(one.seconds for one in profile.casts)
    yield f"<h2>Where the time goes<small>step {profile.step}, run again with every operation measured</small></h2>\n"
    dtypes: dict[str, float] = {}
    modules: dict[tuple[str, str], dict[str, float]] = {}
    for one in profile.operations:
        dtypes[one.dtype] = dtypes.get(one.dtype, 0.0) + one.seconds
        by_dtype = modules.setdefault((one.module, one.kind), {})
        by_dtype[one.dtype] = by_dtype.get(one.dtype, 0.0) + one.seconds
    dtypes["casts"] = sum(one.seconds for one in profile.casts)
    yield html_table(
        ("Computed in", "Time", ""), [(name, _share(one, total), _bar(one, total)) for name, one in _most(dtypes)]
    )
    yield "<h3>Modules</h3>\n"
    names = [name for name, _ in _most(dtypes) if name != "casts"]
    ranked = sorted(modules.items(), key=lambda one: -sum(one[1].values()))
    yield html_table(
        ("Module", "Class", "Time", *names),
        [
            (module or "outside of modules", kind, _share(sum(times.values()), total),
             *(_share(times[name], total) if name in times else "" for name in names))
            for (module, kind), times in ranked
        ],
    )  # fmt: skip
    if profile.fallbacks:
        yield "<h3>In float32 inside a region</h3>\n"
        yield html_table(
            ("Module", "Class", "Why", "Time"),
            [(one.module, one.kind, one.why, _share(one.seconds, total)) for one in profile.fallbacks],
        )
    if profile.casts:
        yield "<h3>Casts</h3>\n"
        yield html_table(
            ("Module", "From", "To", "Casts", "Taking one back", "Time"),
            [
                (one.module or "outside of modules", one.source, one.target, str(one.calls), str(one.undone or ""),
                 _share(one.seconds, total))
                for one in profile.casts
            ],
        )  # fmt: skip


def _most(times: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(((name, seconds) for name, seconds in times.items() if seconds), key=lambda one: -one[1])


def _share(seconds: float, total: float) -> str:
    return "" if not total else "<0.1%" if 0 < seconds < 0.0005 * total else f"{seconds / total:.1%}"


def _bar(seconds: float, total: float) -> str:
    return f'<span class="bar" style="width: {200 * seconds / total:.0f}px"></span>' if total else ""


def html_table(heads: Iterable[str], rows: Sequence[Sequence[str]], of: int = 0) -> str:
    """A table, as far as it can be read.

    Args:
        heads: what stands above the columns.
        rows: the cells.
        of: how many rows there would be.
    """
    heads, shown = list(heads), rows[:_ROWS]
    kinds = [_column(row[number] for row in shown) for number in range(len(heads))]
    head = "".join(f"<th{kind}>{one}</th>" for one, kind in zip(heads, kinds))
    body = "".join(f"<tr>{''.join(map(_cell, row, kinds))}</tr>" for row in shown)
    left = max(of, len(rows)) - len(shown)
    more = f'<p class="note">{left} more are not shown.</p>' if left else ""
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>{more}\n'


def _column(cells: Iterable[str]) -> str:
    """What a column is to the style sheet: numbers stand to the right, words to the left, many words in several lines."""
    told = [one for one in cells if one]
    if any(len(one) > _AROUND * 8 for one in told if not one.startswith("<span")):
        return " class=long"
    return (
        ""
        if all(one[0].isdecimal() or one[0] in "-<?" and not one.startswith("<span") for one in told)
        else " class=words"
    )


def _cell(text: str, kind: str) -> str:
    return f"<td{kind}>{text if text.startswith('<span') else prose(text)}</td>"
