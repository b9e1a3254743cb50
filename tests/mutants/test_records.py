"""A run over repairs that is interrupted goes on where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

from amplint.runtime.verdict import PARTLY, REFUTED

from .attempts import Attempt, written
from .records import key_of, recorded, resumed


def some() -> list[Attempt]:
    """Two repairs that no path needs to be walked for."""
    return [one for one in written(["AMP118"]) if not one.right][:2]


def test_what_is_on_record_is_not_judged_again(tmp_path: Path) -> None:
    records, attempts, told = tmp_path / "records.jsonl", some(), list[tuple[int, int]]()
    interrupted = resumed(attempts, records, 1)
    assert next(interrupted)[1].verdict == REFUTED
    interrupted.close()
    assert recorded(records).keys() == {key_of(attempts[0])}
    changed = json.loads(records.read_text("utf-8")) | {"verdict": PARTLY}
    records.write_text(json.dumps(changed) + "\n" + '{"key": "cut o', "utf-8")
    again = list(resumed(attempts, records, 1, lambda done, total: told.append((done, total))))
    assert [outcome.verdict for _, outcome in again] == [PARTLY, REFUTED]
    assert told == [(2, 2)]
    assert recorded(records).keys() == {key_of(each) for each in attempts}


def test_another_text_is_judged_for_itself() -> None:
    first, second = some()
    assert key_of(first) != key_of(Attempt(first.code, first.name, second.repair, first.right))
