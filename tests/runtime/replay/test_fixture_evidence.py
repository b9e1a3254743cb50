"""Every fix of every fixture, replayed as a user would: none is refuted, and the evidence is what its schema promises."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
from checkout import ROOT
from program import amplint, problems

from amplint.engine.registry import rule_index
from amplint.model.observables import PRODUCT_TIME
from amplint.runtime.devices import EMULATED
from amplint.runtime.verdict import CONFIRMED, ERROR, REFUTED

torch = pytest.importorskip("torch", reason="replays need torch: pip install 'amplint[verify]'")

LIMIT = 1200
"""Seconds that all fixtures may take on a slow and busy machine; two idle cores need about 60."""


UNPROVED = {
    "amp101_clip_before_unscale/flagged_backend_is_an_enum.py": "the change does more than is replayed",
    "amp106_fp16_without_scaler/flagged_mps_default.py": "the code is for 'mps'",
    "amp106_fp16_without_scaler/flagged_process_groups.py": "the defect makes no difference",
    "amp106_fp16_without_scaler/flagged_region_by_device.py": "the change does more than is replayed",
    "amp106_fp16_without_scaler/flagged_xpu_default.py": "the code is for 'xpu'",
    "amp109_update_per_optimizer/flagged_unscaled_after_update.py": "the defect makes no difference",
    "amp114_scaler_state_not_saved/flagged_loaded_before_it_is_made.py": "the fix saves the state, and the load is left",
    "amp114_scaler_state_not_saved/flagged_resumed_under_one_name.py": "the fix saves the state, and the load is left",
    "amp114_scaler_state_not_saved/flagged_scaler_made_after_the_load.py": "the fix saves the state, and the load is left",
    "amp114_scaler_state_not_saved/flagged_scaler_depends_on_checkpoint.py": "the fix saves the state, and the load is left",
    "amp205_autocast_missing_device_type/flagged_index_by_a_helper.py": "the defect makes no difference",
    "amp205_autocast_missing_device_type/flagged_text_by_a_helper.py": "the value of `",
    "amp206_manual_cast_in_autocast/flagged_widened_before.py": "the defect makes no difference",
    "amp211_loss_outside_autocast/flagged_criterion_on_the_options.py": "what comes of the finding is not found",
    "amp211_loss_outside_autocast/flagged_dict_in_a_dict.py": "no small shapes fit the expression",
    "amp211_loss_outside_autocast/flagged_models_by_their_modes.py": "something else that is computed in half",
    "amp211_loss_outside_autocast/flagged_returned_with_and_without.py": "the defect makes no difference",
    "amp302_eps_underflow/flagged_blocks_of_a_transformer.py": "lambda t: rearrange(t, ",
}
"""The fixtures with a fix that this device cannot prove, and why; a reason may be cut short."""

OPT_IN = {
    next((ROOT / "fixtures").glob(f"{rule.code.lower()}_*")).name
    for rule in rule_index()
    if not rule.default and rule.code < "AMP9"
}
"""The folders of the rules that are outside of the default set."""

SAMPLE = [
    str(path.relative_to(ROOT))
    for name in ("amp101_clip_before_unscale", "amp205_autocast_missing_device_type", "amp301_exp_log_in_loss")
    for path in sorted((ROOT / "fixtures" / name).glob("flagged_*.py"))[:6]
]
"""Fixtures of rules that are replayed in three different ways: as a training, as constructions, as an expression."""


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


def run(paths: Sequence[str], evidence: Path, *options: str, cwd: Path = ROOT) -> Proof:
    """Replay the fixes in some paths of a folder, on the device that is the same everywhere."""
    always = ("--isolated", "--no-cache", "--unsafe-fixes", "--device", EMULATED, "--evidence", evidence)
    done = amplint("verify", *paths, *always, *options, cwd=cwd, timeout=LIMIT)
    records = [json.loads(line) for line in evidence.read_text("utf-8").splitlines()]
    return Proof(done.returncode, problems(done), records)


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Proof:
    """All fixtures with findings; that there are none in the others, `test_whole_folder` asserts."""
    return run(["fixtures"], tmp_path_factory.mktemp("proof") / "evidence.jsonl", "--exclude", "clean_*.py,*.fixed.py")


def test_no_fix_of_a_fixture_is_refuted_and_no_replay_fails(proof: Proof) -> None:
    assert proof.of(REFUTED, ERROR) == []
    assert (proof.exit_code, proof.problems) == (0, [])


def test_every_fix_of_a_fixture_is_proved(proof: Proof) -> None:
    """But for those that only a GPU can prove, and those that are listed with their reason."""
    unproved = {
        one["finding"]["path"].removeprefix("fixtures/"): one["reason"]
        for one in proof.records
        if one["verdict"] != CONFIRMED and one["measured"]["what"] != PRODUCT_TIME
    }
    assert unproved.keys() == UNPROVED.keys(), unproved
    assert [place for place, reason in UNPROVED.items() if not unproved[place].startswith(reason)] == [], unproved


def test_what_is_proved_was_seen(proof: Proof) -> None:
    """No number that was measured is the same before and after, where the number is the proof."""
    unseen = [
        one["finding"]["path"]
        for one in proof.records
        if one["verdict"] == CONFIRMED and one["basis"] == "path" and one["measured"]["before"] == one["measured"]["after"]
        and one["measured"]["before"]
    ]  # fmt: skip
    assert unseen == []


def test_every_fixture_with_a_fix_is_among_them(proof: Proof) -> None:
    every = (ROOT / "fixtures").glob("*/flagged_*.fixed.py")
    fixed = {path.name.replace(".fixed.py", ".py") for path in every if path.parent.name not in OPT_IN}
    assert fixed <= {Path(one["finding"]["path"]).name for one in proof.records}


def test_no_fix_of_an_opt_in_rule_is_refuted(tmp_path: Path) -> None:
    """Nor does a replay fail; each is replayed in the fixtures of its own rule."""
    codes = ",".join(sorted(folder[:6].upper() for folder in OPT_IN))
    folders = [f"fixtures/{folder}" for folder in sorted(OPT_IN)]
    proof = run(folders, tmp_path / "evidence.jsonl", "--select", codes)
    assert proof.of(REFUTED, ERROR) == []
    assert (proof.exit_code, proof.problems) == (0, [])
    assert len(proof.of(CONFIRMED)) >= 20


def test_all_evidence_follows_the_schema(proof: Proof) -> None:
    schema = json.loads((ROOT / "docs" / "evidence-schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    wrong = [f"{one['finding']}: {error.message}" for one in proof.records for error in validator.iter_errors(one)]
    assert proof.records and wrong == []


def test_evidence_says_where_it_comes_from_and_stands_once(proof: Proof) -> None:
    assert {one["device"]["kind"] for one in proof.records} == {EMULATED}
    assert {(one["seed"], one["versions"]["torch"]) for one in proof.records} == {(0, torch.__version__)}
    findings = [json.dumps(one["finding"], sort_keys=True) for one in proof.records]
    assert len(findings) == len(set(findings))
    assert all(one["fix"]["diff"].count("\n@@ ") >= 1 for one in proof.records)


def test_the_same_seed_gives_the_same_evidence_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for times; whatever the hash seed is, and however many processes there are.

    Tried on copies, apart from all other fixtures, for whose sake each run would read those, too.
    """
    for path in SAMPLE:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)

    def evidence(hash_seed: str, *options: str) -> bytes:
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        file = tmp_path / f"evidence-{hash_seed}.jsonl"
        assert run(SAMPLE, file, *options, cwd=tmp_path).exit_code == 0
        written, times = re.subn(rb'"seconds": [\d.e-]+', b'"seconds": 0', file.read_bytes())
        assert times == written.count(b"\n") > len(SAMPLE) / 4
        return written

    first = evidence("1", "--seed", "7", "--jobs", "1")
    assert first == evidence("2", "--seed", "7", "--jobs", "2")
    assert first != evidence("3", "--seed", "8").replace(b'"seed": 8', b'"seed": 7')
