"""A profile as one JSON document, described by `docs/profile-schema.json`."""

from __future__ import annotations

import json
from dataclasses import asdict

from amplint.profile.profile_record import ProfileRecord
from amplint.report.trace.json_rows import plain

SCHEMA = 1


def render(record: ProfileRecord) -> str:
    """The document; numbers that JSON does not have are written as `"inf"`, `"-inf"` and `"nan"`."""
    return json.dumps(plain({"schema": SCHEMA, **asdict(record)}), allow_nan=False, indent=1) + "\n"
