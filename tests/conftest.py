"""Options of the test run, and what tests of several modules stand on."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import demo_pack
import pytest
from checkout import ROOT
from fixture_harness import fixtures_of
from skipped_tests import Noted, SkippedTests

from amplint.engine import registry, relevance, rule_pages, selection

if find_spec("torch") is None:
    # `tests/model`, which pytest puts on the path, holds a folder of that name, which Python would take for a package.
    sys.modules["torch"] = None  # type: ignore[assignment]

_LONGEST = {
    ROOT / "tests" / name
    for name in (
        "campaign/test_campaign.py",
        "campaign/test_plants.py",
        "kill/test_kill.py",
        "mutants/test_mutants.py",
        "profile/test_profile.py",
        "runtime/execution/test_trust.py",
        "runtime/replay/test_fixture_evidence.py",
        "runtime/replay/test_shown_fixes.py",
        "test_fixtures.py",
        "test_whole_folder.py",
        "tracing/test_programs.py",
        "tracing/test_ranks.py",
        "tracing/test_trace.py",
    )
}
"""The files whose tests together take longest."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rule", metavar="CODE", help="only the fixtures, the page and the tests of one rule")
    parser.addoption("--all-dresses", action="store_true", help="every fixture in every dress, not three of each rule")
    parser.addoption(
        "--note-skipped", metavar="FILE", help="write to FILE which tests were skipped for want of PyTorch"
    )
    parser.addoption("--only-noted", metavar="FILE", help="only the tests, or files, that FILE names, one a line")
    parser.addoption("--keep-report", metavar="FILE", help="write to FILE what is found in all fixtures, as JSON")
    parser.addoption("--write-fixed", action="store_true", help="write the .fixed.py of the selected fixtures")


def pytest_configure(config: pytest.Config) -> None:
    if (code := config.getoption("--rule")) and not _module_of(code):
        raise pytest.UsageError(f"--rule: no rule has the code {code}")
    if (noted := config.getoption("--note-skipped")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SkippedTests(Path(noted)))
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # files with many tests first: those that take long have few


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the files that `--only-noted` leaves, the tests that it names; what takes longest first, so that of several processes
    none works alone in the end."""
    if noted := _noted(config):
        items[:], others = noted.split(items)
        config.hook.pytest_deselected(items=others)
    items.sort(key=lambda item: item.path not in _LONGEST)


def pytest_collection_finish() -> None:
    """What is there before the first test stays: the collector of garbage need not look at it again and again."""
    gc.collect()
    gc.freeze()


def _module_of(code: str) -> str:
    """What the module of a rule is called; empty when there is none."""
    return next((path.stem for path in (ROOT / "rules").glob(f"{code.lower()}_*.py")), "")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--rule`, whatever does not speak of one rule, with `--only-noted` what is not named: it is not even imported."""
    code, noted = config.getoption("--rule"), _noted(config)
    if collection_path.is_dir() or not (code or noted):
        return None
    path = collection_path.relative_to(ROOT).as_posix()
    return True if (noted and path not in noted.files) or (code and path not in _speaking_of(code)) else None


def _noted(config: pytest.Config) -> Noted | None:
    """What `--only-noted` leaves; None without it."""
    file = config.getoption("--only-noted")
    return Noted.read(Path(file)) if file else None


def _speaking_of(code: str) -> set[str]:
    """The test files that speak of one rule."""
    own = f"rules/test_{_module_of(code).partition('_')[2]}.py"
    return {f"tests/{name}" for name in ("test_fixtures.py", "test_meta.py", "test_rule_pages.py", own)}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for a `rule` or a `fixture` runs for each; with `--rule`, for those of that rule."""
    code = (metafunc.config.getoption("--rule") or "").upper()
    if "rule" in metafunc.fixturenames:
        rules = [rule for rule in registry.load_rules() if code in ("", rule.code)]
        metafunc.parametrize("rule", rules, ids=[rule.code for rule in rules])
    if "fixture" in metafunc.fixturenames:
        metafunc.parametrize("fixture", fixtures_of(code), ids=str)


_SET = {
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
}
_UNSET = (
    "GIT_",
    "PRE_COMMIT",
    "XDG_",
    "LANG",
    "LC_",
    "PYTHON",
    "NO_COLOR",
    "FORCE_COLOR",
    "COLUMNS",
    "FLAKE8",
    "AMPLINT_",
)
_KEPT = ("PYTHONHASHSEED", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
_HOME = ("HOME", "USERPROFILE")


@pytest.fixture(scope="session", autouse=True)
def known_environment() -> Iterator[None]:
    """What every test finds, whoever runs it: an identity for git, a locale, a time zone, and no settings of Python or others."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(_UNSET) and name not in _KEPT]:
            patch.delenv(name)
        for name, value in (*_pip(Path.home()).items(), *_SET.items()):
            patch.setenv(name, value)
        if hasattr(time, "tzset"):
            time.tzset()
        yield


def _pip(home: Path) -> dict[str, str]:
    """Where pip, which pre-commit runs, finds its settings and its cache: what the user set holds for an empty home, too."""
    found = {"PIP_CONFIG_FILE": home / ".config" / "pip" / "pip.conf", "PIP_CACHE_DIR": home / ".cache" / "pip"}
    return {name: str(path) for name, path in found.items() if name not in os.environ and path.exists()}


@pytest.fixture(autouse=True)
def empty_home(known_environment: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder in which nothing lies, for each test another one."""
    home = tempfile.mkdtemp(prefix="home-")
    for name in _HOME:
        monkeypatch.setenv(name, home)
    yield Path(home)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def all_dresses(request: pytest.FixtureRequest) -> bool:
    """Whether every fixture is to be checked in every dress."""
    return bool(request.config.getoption("--all-dresses"))


@pytest.fixture
def write_fixed(request: pytest.FixtureRequest) -> bool:
    """Whether the `.fixed.py` files are to be written rather than compared."""
    return bool(request.config.getoption("--write-fixed"))


@pytest.fixture
def emulated() -> Iterator[None]:
    """CUDA's autocast on CPU tensors."""
    pytest.importorskip("torch")
    from amplint.runtime.emulation import cuda_autocast

    with cuda_autocast.cuda_autocast():
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
        selection.all_rules,
        rule_pages._packs,
        rule_pages._file,
        relevance._triggers,
        relevance._code,
        relevance._asking,
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
