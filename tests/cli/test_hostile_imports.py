"""Nothing in the tree that is looked at is imported: not as a module, not as a rule pack, not in any process of a run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import demo_pack
import pytest
from checkout import ROOT
from program import environment

MODULES = (
    "__future__", "re", "os", "io", "json", "gc", "enum", "typing", "dataclasses", "pathlib", "difflib", "html", "signal",
    "multiprocessing", "multiprocessing.spawn", "pickle", "socket", "struct", "threading", "tempfile", "tokenize", "ast",
    "click", "libcst", "platformdirs", "tomllib", "tomli", "torch", "numpy", "amplint_rules", "amplint_rules.amp101",
    "evil_rules",
    "sitecustomize", "usercustomize", "random", "copy", "string", "textwrap", "inspect", "importlib.resources",
    "runpy", "pkgutil", "warnings", "types", "zlib", "functools", "collections", "contextlib", "operator", "keyword", "shutil",
)  # fmt: skip
"""What a hostile tree brings in the hope that somebody imports it."""

POISON = "import os\nopen(os.environ['IMPORTED'], 'a').write(__file__ + '\\n')\nraise SystemExit('poisoned')\n"
DEFECT = (
    "import os\nopen(os.environ['IMPORTED'], 'a').write(__file__)\nimport torch\nscaler = torch.cuda.amp.GradScaler()\n"
)
PACKS = "[amplint.rules]\nevil = evil_rules\n[flake8.extension]\nEVL = evil_rules:Plugin\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree of which every module that is imported leaves a trace."""
    tree = tmp_path / "tree"
    for name in MODULES:
        *packages, last = name.split(".")
        folder = tree.joinpath(*packages)
        folder.mkdir(parents=True, exist_ok=True)
        if packages and not (folder / "__init__.py").exists():
            (folder / "__init__.py").write_text(POISON)
        (folder / f"{last}.py").write_text(POISON)
    for kind in ("dist", "egg"):
        (tree / f"evil-1.0.{kind}-info").mkdir()
        (tree / f"evil-1.0.{kind}-info" / "entry_points.txt").write_text(PACKS)
    (tree / "train.py").write_text(DEFECT)
    (tree / "large.py").write_text(DEFECT + "# amplint\n" * 60_000)
    return tree


def run(tree: Path, *start: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a program in the tree; nothing of the tree may be imported by it."""
    trace = tree.parent / "imported"
    variables = {**environment(), "IMPORTED": str(trace), **settings}
    done = subprocess.run(
        [sys.executable, *start], cwd=tree, env=variables, capture_output=True, text=True, timeout=300
    )
    assert not trace.exists(), trace.read_text()
    assert "poisoned" not in done.stderr
    return done


ONE = ("--no-cache", "--select", "AMP209", "train.py")
MANY = ("--no-cache", "--select", "AMP209", "--jobs", "2", "train.py", "large.py")
SCRIPT = (
    "import sys; sys.path.pop(0); from amplint.__main__ import main; main()"  # as pip writes it, but for its folder
)


def console_script(tree: Path) -> tuple[str, ...]:
    """A script like the one that pip installs as `amplint`."""
    script = tree.parent / "bin" / "amplint"
    script.parent.mkdir(exist_ok=True)
    script.write_text(
        "import sys\nfrom amplint.__main__ import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
    )
    return (str(script),)


@pytest.mark.parametrize("started", ["module", "script"])
def test_linting_imports_nothing_from_the_current_folder(tree: Path, started: str) -> None:
    if started == "module" and sys.version_info < (3, 11):
        pytest.skip("this Python imports `runpy` and what that needs from the current folder itself")
    start = ("-m", "amplint") if started == "module" else console_script(tree)
    for arguments in (ONE, MANY, ("--diff", *ONE), ("--fix", *ONE), ("rules",), ("explain", "AMP101")):
        done = run(tree, *start, *arguments)
        assert done.returncode in (0, 1), done.stderr
    assert "torch.amp.GradScaler" in (tree / "train.py").read_text()


@pytest.mark.parametrize("path", [".", "", "{tree}", ".{sep}{site}", "{site}{sep}", "../tree"])
def test_the_current_folder_in_pythonpath(tree: Path, path: str) -> None:
    # What Python itself imports at its start comes from there before the program begins: that is left out.
    for name in MODULES:
        if name.partition(".")[0] not in (
            "click",
            "libcst",
            "platformdirs",
            "amplint_rules",
            "evil_rules",
            "json",
            "difflib",
        ):
            tree.joinpath(*name.split(".")).with_suffix(".py").unlink(missing_ok=True)
    (tree / "importlib" / "__init__.py").unlink()
    (tree / "importlib").rmdir()
    (tree / "multiprocessing" / "__init__.py").unlink()
    (tree / "multiprocessing").rmdir()
    site = tree.parent / "site"
    site.mkdir()
    path = path.format(tree=tree, sep=os.pathsep, site=site)
    assert run(tree, *console_script(tree), *ONE, PYTHONPATH=path).returncode == 1
    assert run(tree, "-m", "amplint", *ONE, PYTHONPATH=path).returncode == 1


def test_workers_that_are_no_forks_import_nothing_from_the_current_folder(tree: Path) -> None:
    script = tree.parent / "spawned.py"
    script.write_text(
        "import sys\nif __name__ == '__main__':\n"
        "    import amplint.engine.pool as pool\n    pool.sys = type(sys)('sys')\n    pool.sys.platform = 'other'\n"
        "    from amplint.__main__ import main\n    main()\n"
    )
    done = run(tree, str(script), *MANY)
    assert (done.returncode, len(done.stdout.splitlines())) == (1, 2), done.stderr


def test_verifying_imports_nothing_from_the_current_folder(tree: Path) -> None:
    pytest.importorskip("torch")
    done = run(tree, *console_script(tree), "verify", "--device", "cpu", "--select", "AMP209", "train.py")
    assert done.returncode == 0, done.stderr
    assert "confirmed" in done.stdout


def test_rule_packs_inside_flake8_are_those_that_are_installed(tree: Path) -> None:
    # What flake8 itself imports is not ours to say: it is told here to look elsewhere, as its console script does.
    (tree / "evil_rules.py").write_text(POISON)
    code = (
        "import sys, os\nsys.path.remove('')\nfrom flake8.main.cli import main\nimport amplint.flake8_plugin\n"
        "sys.path.insert(0, os.getcwd())\nplugin = amplint.flake8_plugin.Plugin(None, 'train.py', [])\n"
        "print([found[2] for found in plugin.run()])\nassert sys.path[0] == os.getcwd()\n"
    )
    done = run(tree, "-c", code)
    assert done.returncode == 0, done.stderr
    assert "AMP209" in done.stdout


def test_what_the_page_on_security_names_is_there() -> None:
    page = ROOT.joinpath("SECURITY.md").read_text("utf-8")
    named = re.findall(r"`(test_\w+\.py)`", page)
    assert len(named) > 5
    there = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert [name for name in named if name not in there] == []


# -- what is still found ------------------------------------------------------------------------------------------------


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def listed(cwd: Path, **settings: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "amplint", "rules"],
        cwd=cwd,
        env={**environment(), **settings},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_pack_in_a_folder_that_pythonpath_names_in_full(tmp_path: Path, empty: Path) -> None:
    site = demo_pack.install(tmp_path / "site")
    assert "DEM101" in listed(empty, PYTHONPATH=str(site))
    assert "DEM101" not in listed(site, PYTHONPATH=str(site))
    assert "DEM101" not in listed(site.parent, PYTHONPATH=site.name)


def test_a_pack_that_is_installed_from_the_current_folder(tmp_path: Path) -> None:
    """An editable installation: the metadata lies in site-packages, the code where its author is at work."""
    checkout = demo_pack.install(tmp_path / "checkout")
    site = tmp_path / "site"
    site.mkdir()
    (checkout / "demo_rules-1.0.dist-info").rename(site / "demo_rules-1.0.dist-info")
    (site / "demo.pth").write_text(f"{checkout}\n")
    start = f"import site, sys; site.addsitedir({str(site)!r}); sys.argv[0] = 'amplint'; "
    for given in ("", f"sys.path.insert(0, {str(checkout)!r}); "):
        code = f"{start}{given}from amplint.__main__ import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", code, "rules"], cwd=checkout, env=environment(), capture_output=True, text=True
        )
        assert "DEM101" in done.stdout, done.stderr
