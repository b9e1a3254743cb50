"""Evidence as JSON, as `docs/evidence-schema.json` describes it."""

from __future__ import annotations

import json
import math
from typing import Any

from amplint import __version__
from amplint.diagnostics import Diagnostic
from amplint.report import diff
from amplint.runtime.evidence import Evidence
from amplint.runtime.verdict import Axis, Values

SCHEMA = 1
"""Goes up when a reader of the older form would misread the newer one."""


def evidence_record(evidence: Evidence) -> dict[str, Any]:
    """The evidence on one finding. All but `seconds` is the same for the same seed on the same device."""
    outcome, fix = evidence.outcome, evidence.diagnostic.fix
    assert fix is not None, "only findings with a fix are replayed"
    changed = diff.unified(evidence.before.text, evidence.after.text, evidence.diagnostic.path)
    return {
        "schema": SCHEMA,
        "finding": _finding(evidence.diagnostic),
        "fix": {"title": fix.title, "applicability": fix.applicability.value, "diff": "".join(changed)},
        "device": {
            "kind": evidence.device.kind,
            "name": evidence.device.name,
            "capability": evidence.device.capability,
        },
        "versions": {"amplint": __version__, "torch": evidence.device.torch},
        "seed": evidence.seed,
        "verdict": outcome.verdict,
        "reason": outcome.reason,
        "together": list(outcome.together),
        "basis": outcome.basis,
        "remains": list(outcome.remains),
        "assumed": list(outcome.assumed),
        "measured": {
            "what": outcome.measure,
            "before": _values(outcome.before),
            "after": _values(outcome.after),
            "reference": _values(outcome.reference),
            **_axis(outcome.axis),
            "series": {name: [_value(one) for one in values] for name, values in outcome.series.items()},
        },
        "seconds": round(evidence.seconds, 3),
    }


def _axis(axis: Axis | None) -> dict[str, Any]:
    return {} if axis is None else {"axis": {"name": axis.name, "places": list(axis.places), "shown": axis.shown}}


def line(evidence: Evidence) -> str:
    """The evidence on one finding as one line."""
    return json.dumps(evidence_record(evidence), allow_nan=False) + "\n"


def _finding(diagnostic: Diagnostic) -> dict[str, Any]:
    start = diagnostic.range.start
    return {
        "path": diagnostic.path,
        "row": start.row,
        "column": start.column,
        "code": diagnostic.code,
        "name": diagnostic.name,
        "message": diagnostic.message,
    }


def _values(values: Values) -> dict[str, float | str]:
    return {name: _value(value) for name, value in values.items()}


def _value(value: float | str) -> float | str:
    """JSON has no number for what is not finite: `inf`, `-inf` and `nan` are strings there."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
