"""What mutators make of a small program."""

from __future__ import annotations

import ast

from .expressions import EXPRESSIONS
from .program_text import Change, ProgramText
from .statements import STATEMENTS

LOOP = """\
def train(model, loader, optimizer, scaler, clip):
    for x, y in loader:  # Größe
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = -model(x, y) / 4
        scaler.scale(loss).backward()
        if clip >= 1 and model.training:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()


def other(value):
    return value + 1
"""


def changes(mutator: str, row: int = 6) -> list[Change]:
    """What a mutator makes of the loop, for a fix in one of its rows."""
    program = ProgramText(LOOP, ast.parse(LOOP), {row})
    return [change for each in (*STATEMENTS, *EXPRESSIONS) if each.__name__ == mutator for change in each(program)]


def test_every_change_is_a_program_near_the_fix() -> None:
    for mutator in (*STATEMENTS, *EXPRESSIONS):
        found = changes(mutator.__name__)
        assert found or mutator.__name__ == "other_object"
        for change in found:
            ast.parse(change.text)
            assert change.text.endswith("return value + 1\n") and "# Größe" in change.text


def test_a_call_is_deleted_and_a_block_keeps_a_statement() -> None:
    texts = {change.what: change.text for change in changes("delete_call")}
    assert "optimizer.zero_grad" not in texts["delete `optimizer.zero_grad()`"]
    assert "model.training:\n            pass\n        scaler.step" in texts["delete `scaler.unscale_(optimizer)`"]


def test_statements_move_into_regions_and_out_of_them() -> None:
    into = {change.what: change.text for change in changes("move_in")}
    region = "`with torch.autocast('cuda', dtype=torch.float16):`"
    assert (
        "/ 4\n            scaler.scale(loss).backward()\n"
        in into[f"move `scaler.scale(loss).backward()` into {region}"]
    )
    assert "float16):\n            optimizer.zero_grad()\n" in into[f"move `optimizer.zero_grad()` into {region}"]
    (unwrapped,) = (change.text for change in changes("unwrap") if "with" in change.what)
    assert "zero_grad()\n        loss = -model(x, y) / 4\n" in unwrapped


def test_neighbours_are_swapped_unless_one_needs_the_other() -> None:
    (swapped,) = changes("swap_neighbours")
    assert swapped.what == "swap `scaler.step(optimizer)` with `scaler.update()`"
    assert "        scaler.update()\n        scaler.step(optimizer)\n" in swapped.text
    needed = "def f(x):\n    y = g(x)\n    return y\n"
    (swap,) = (mutator for mutator in STATEMENTS if mutator.__name__ == "swap_neighbours")
    assert list(swap(ProgramText(needed, ast.parse(needed), {1}))) == []


def test_conditions_are_weakened_and_turned() -> None:
    conditions = {change.text.split("if ")[1].split(":")[0] for change in changes("condition")}
    assert {"True", "False", "(model.training)", "(clip >= 1)", "clip > 1 and model.training"} <= conditions


def test_values_are_multiplied_negated_and_detached() -> None:
    passes = {
        line.strip() for change in changes("arithmetic") for line in change.text.splitlines() if "backward" in line
    }
    assert "scaler.scale(((loss) * 0.0)).backward()" in passes
    assert "(-(scaler.scale(loss))).backward()" in passes
    assert "((scaler.scale(loss)).detach()).backward()" in passes


def test_mixed_precision_is_switched_off() -> None:
    texts = [change.text for change in changes("no_amp")]
    assert any('torch.autocast("cuda", dtype=torch.float16, enabled=False)' in text for text in texts)
    assert any("        loss.backward()\n" in text for text in texts)


def test_only_the_function_of_the_fix_changes() -> None:
    loop, rest = LOOP.split("def other")
    assert all(change.text.startswith(loop) for change in changes("arithmetic", row=14))
    assert all(change.text.endswith(rest) for change in changes("arithmetic", row=6))
