"""References: what a name is a part of, which call it belongs to, and what the key of a condition mentions."""

from __future__ import annotations

import pytest

from amplint.model.references import condition_key, key_of, reference


def test_a_part_is_known_by_the_whole() -> None:
    assert reference("outputs.losses[0]").wholes == ("outputs.losses[0]", "outputs.losses", "outputs")
    assert reference("").wholes == ()
    assert reference("outputs").includes("outputs[0].loss")
    assert not reference("out").includes("outputs")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("::scaler", "scaler"),
        ("#12/self.scaler", "self.scaler"),
        ("#4/#27/scaler", "scaler"),
        ("::pkg/objects:state.scaler", "state.scaler"),
        ("opt", "opt"),
    ],
)
def test_a_message_names_what_the_author_wrote(text: str, written: str) -> None:
    assert reference(text).written == written


@pytest.mark.parametrize(("name", "expected"), [("p.grad", True), ("cached_grads[0]", True), ("requires_grad", False)])
def test_gradients_are_told_by_their_names(name: str, expected: bool) -> None:
    assert reference(name).is_gradient is expected


def test_the_key_of_a_condition_mentions_references_and_what_they_are_parts_of() -> None:
    key = f"{key_of('args.amp')} and {key_of('flag')}"
    assert condition_key(key).mentioned == {"args.amp", "args", "flag"}
    assert condition_key(key).renamed(lambda name: f"#1/{name}") == f"{key_of('#1/args.amp')} and {key_of('#1/flag')}"
