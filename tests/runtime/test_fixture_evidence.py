"""Every fix of every fixture, replayed as a user would: none is refuted, and the evidence is what its schema promises."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from checkout import ROOT
from program import amplint, problems

from amplint.runtime.devices import EMULATED
from amplint.runtime.outcome import CONFIRMED

pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

LIMIT = 300
"""Seconds that all fixtures may take on a slow and busy machine; two idle cores need about 20."""


class Proof(NamedTuple):
    """What a run of `amplint verify` came to."""

    exit_code: int
    problems: Sequence[str]
    records: Sequence[dict[str, Any]]

    def of(self, *verdicts: str) -> list[str]:
        """The findings with one of these verdicts, a line each."""
        return [
            f"{one['finding']['path']}:{one['finding']['row']}: {one['finding']['code']} {one['verdict']}: {one['reason']}"
            for one in self.records
            if one["verdict"] in verdicts
        ]


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Proof:
    """All fixtures on the device that is everywhere the same."""
    evidence = tmp_path_factory.mktemp("proof") / "evidence.jsonl"
    arguments = ("fixtures", "--isolated", "--no-cache", "--unsafe-fixes", "--device", EMULATED, "--evidence", evidence)
    done = amplint("verify", *arguments, cwd=ROOT, timeout=LIMIT)
    return Proof(done.returncode, problems(done), _records(evidence))


def _records(evidence: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in evidence.read_text("utf-8").splitlines()]


def test_no_fix_of_a_fixture_is_refuted_and_no_replay_fails(proof: Proof) -> None:
    assert proof.of("refuted", "error") == []
    assert (proof.exit_code, proof.problems) == (0, [])


def test_every_fixture_with_a_fix_is_among_them(proof: Proof) -> None:
    fixed = {path.name.replace(".fixed.py", ".py") for path in (ROOT / "fixtures").glob("*/flagged_*.fixed.py")}
    assert fixed <= {Path(one["finding"]["path"]).name for one in proof.records}
    assert len(proof.of(CONFIRMED)) > len(proof.records) / 2
