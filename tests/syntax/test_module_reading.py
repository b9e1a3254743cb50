"""Which files of a project are read as modules: those that do anything that AMP would notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplint.syntax.module_reading import Module, read_module


def is_read(tmp_path: Path, text: str) -> bool:
    path = tmp_path / "helpers.py"
    path.write_text(text)
    return read_module(str(path), "helpers", False, len(text), 0)[1] is not None


@pytest.mark.parametrize(
    "line",
    [
        "loss.backward()",
        "accelerator.backward(loss)",
        "self.manual_backward(loss)",
        "run = loss.backward",
        "from torch.autograd import backward as propagate",
        "gradients = [each.grad for each in parameters]",
        "return self.state.grad_scaler",
        "optimizer.step()",
    ],
)
def test_what_does_something_with_gradients_is_read(tmp_path: Path, line: str) -> None:
    assert is_read(tmp_path, f"def helper(self, loss, parameters, optimizer, accelerator):\n    {line}\n")


@pytest.mark.parametrize(
    "line",
    [
        '"""Kept for backward compatibility."""',
        "# not backward-compatible: once it went forward and backward",
        "if self.gradient_checkpointing: return self.gradient_checkpointing_enable()",
        "return x",
    ],
)
def test_words_that_only_sound_like_it_are_no_reason(tmp_path: Path, line: str) -> None:
    assert not is_read(tmp_path, f"def helper(self, x):\n    {line}\n    return x\n")


def module(tmp_path: Path, text: str) -> Module:
    path = tmp_path / "helpers.py"
    path.write_text(text)
    found = read_module(str(path), "pkg.helpers", False, len(text), 0)[1]
    assert found is not None
    return found


def test_what_a_module_hands_on_is_told_without_its_tree(tmp_path: Path) -> None:
    found = module(
        tmp_path, "from .low import step as run\ndef train(loss):\n    loss.backward()\ndef plot(x):\n    pass\n"
    )
    assert found.handed_on("run") == ["pkg.low.step"]
    assert found.handed_on("plot") == [] == found.bindings_of("plot"), "its rows do not matter"
    assert "tree" not in vars(found)
    assert found.handed_on("train") is None
    assert [each.qualified for each in found.bindings_of("train")] == ["pkg.helpers.train"]
    assert "tree" in vars(found)


def test_a_module_that_libcst_should_not_read_defines_nothing(tmp_path: Path) -> None:
    deep = "".join(f"elif x == {row}:\n    pass\n" for row in range(1_500))
    found = module(tmp_path, f"def train(loss):\n    loss.backward()\nif x:\n    pass\n{deep}")
    assert found.bindings_of("train") == []
