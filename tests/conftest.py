"""Options of the test run, and what tests of several modules stand on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import demo_pack
import pytest

from amplint import checker, registry


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-fixed", action="store_true", help="write the .fixed.py of the selected fixtures")


@pytest.fixture
def write_fixed(request: pytest.FixtureRequest) -> bool:
    """Whether the `.fixed.py` files are to be written rather than compared."""
    return bool(request.config.getoption("--write-fixed"))


@pytest.fixture
def emulated() -> Iterator[None]:
    """CUDA's autocast on CPU tensors."""
    pytest.importorskip("torch")
    from amplint.runtime import emulate

    with emulate.cuda_autocast():
        yield


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the demo rules are installed."""
    return demo_pack.install(tmp_path_factory.mktemp("site"))


def _forget_rules() -> None:
    for cache in (
        registry.pack_names,
        registry.load_rules,
        registry.rule_index,
        checker._triggers,
        checker._code,
    ):
        cache.cache_clear()


@pytest.fixture
def demo_rules(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty folder, and the demo rules instead of the built-in ones."""
    monkeypatch.syspath_prepend(pack)
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    _forget_rules()
    yield
    _forget_rules()


@pytest.fixture(scope="session", autouse=True)
def _own_caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test reads or writes what the user's runs remember."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
        patch.delenv("AMPLINT_CACHE_DIR", raising=False)
        yield
