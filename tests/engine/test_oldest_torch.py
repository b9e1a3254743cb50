"""Which PyTorch a project is checked for whose settings name none."""

from __future__ import annotations

from pathlib import Path

import pytest

from amplint.engine.config import Overrides, SettingsResolver, load
from amplint.engine.oldest_torch import oldest_torch


@pytest.mark.parametrize(
    ("name", "text", "oldest"),
    [
        ("pyproject.toml", '[project]\ndependencies = ["numpy", "torch>=2.4"]', (2, 4)),
        ("pyproject.toml", "[project]\ndependencies = [\"torch [opt] >= 1.13, < 3; python_version > '3.8'\"]", (1, 13)),
        ("pyproject.toml", '[project]\ndependencies = ["torchvision>=0.2", "torch<3"]', None),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.13"', (2, 5)),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.13"\ndependencies = ["torch>=2.1"]', (2, 5)),
        ("pyproject.toml", '[project]\nrequires-python = ">=3.9"', None),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.1"', (2, 1)),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = {version = "2.6.0", extras = ["x"]}', (2, 6)),
        ("pyproject.toml", "[project\ntorch", None),
        ("pyproject.toml", '[project]\ndependencies = "torch>=2.4"', None),
        ("setup.cfg", "[options]\ninstall_requires =\n    numpy\n    torch>=1.10.1\n", (1, 10)),
        ("requirements.txt", "# torch>=2.9\ntorch==2.5.1+cu121  # pinned\n", (2, 5)),
        ("requirements.txt", "pytorch-lightning>=2.0\ntorchmetrics>=1.0\n", None),
        ("requirements.txt", "\xff\xfe", None),
    ],
)
def test_dependencies_say_the_oldest(tmp_path: Path, name: str, text: str, oldest: tuple[int, int] | None) -> None:
    (tmp_path / name).write_text(text, encoding="latin-1")
    assert oldest_torch(tmp_path) == oldest


def test_settings_come_first(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch>=1.12\n")
    (tmp_path / "amplint.toml").write_text("")
    assert load(tmp_path / "amplint.toml").torch == (1, 12)
    (tmp_path / "amplint.toml").write_text('torch-version = "2.4"\n')
    assert load(tmp_path / "amplint.toml").torch == (2, 4)


def test_the_current_folder_counts_without_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "requirements.txt").write_text("torch>=2.6\n")
    monkeypatch.chdir(tmp_path)
    assert SettingsResolver(Overrides()).for_file(tmp_path / "train.py").torch == (2, 6)
    assert SettingsResolver(Overrides(torch=(2, 2))).for_file(tmp_path / "train.py").torch == (2, 2)
    assert SettingsResolver(Overrides(), isolated=True).for_file(tmp_path / "train.py").torch == (2, 3)
