"""A profile as one page of HTML that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.profile.advice import in_bytes
from amplint.profile.profile_record import LayerCost, ProfileRecord
from amplint.report.charts import scripts
from amplint.report.markup import escape, opening, prose
from amplint.report.profile.charts import charts
from amplint.report.profile.text import HEADS, meanings, mode_row
from amplint.report.trace.page import html_table


def render(record: ProfileRecord) -> Iterator[str]:
    """The page, in pieces.

    Args:
        record: the profile.
    """
    yield opening(f"amplint profile: {record.command}", scripts())
    yield f"<h1>amplint profile</h1>\n<p><code>{escape(record.command)}</code></p>\n"
    facts = {"Device": f"{record.device}: {record.name}", "PyTorch": record.torch}
    facts |= {"Memory": in_bytes(record.memory)} if record.memory else {}
    facts |= {"Stopped": record.stopped} if record.stopped else {}
    yield "<dl>" + "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in facts.items()) + "</dl>\n"
    if record.advice is not None:
        reasons = "".join(f"<li>{prose(reason)}</li>" for reason in record.advice.reasons)
        tone = "good" if record.advice.mode else "other"
        yield f'<article class="{tone}"><h2>{prose(record.advice.headline)}</h2><ul>{reasons}</ul></article>\n'
    if record.modes:
        yield f"<h2>Modes</h2>\n{html_table(HEADS, [mode_row(one, record) for one in record.modes])}"
        yield "".join(f'<p class="note">{prose(line)}</p>\n' for line in meanings(record))
        yield charts(record)
    if record.layers:
        yield f"<h2>Layers that gain nothing<small>{escape(record.layers[0].mode)}</small></h2>\n"
        rows = [
            (one.module, one.kind, one.place, *_times(one), f"{one.code} {one.why}".strip()) for one in record.layers
        ]
        yield html_table(("Module", "Class", "Made at", "Share of a step", "Time against float32", "Why"), rows)
    yield "</body>\n</html>\n"


def _times(one: LayerCost) -> tuple[str, str]:
    return ("-", "-") if one.ratio is None else (f"{one.share:.0%}", f"{one.ratio:.2f}")
