"""Rule packs: those of others are loaded like the built-in one, and what is wrong with them is said in one line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

RULE = '''"""A rule of somebody else."""

from amplint.rule import INFO, LOW, rule


@rule({code!r}, {name!r}, INFO, LOW, "1.0", triggers=("^word$",))
def check(file):
    yield from ()
'''


def make_pack(site: Path, name: str, **modules: str) -> Path:
    """Install a rule pack by hand: a package, and the metadata of a distribution."""
    package = site / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for module, text in modules.items():
        (package / f"{module}.py").write_text(text)
    metadata = site / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text(f"[console_scripts]\nx = y:z\n\n[amplint.rules]\nmine = {name}\n")
    return package


def ask(site: Path, question: str) -> subprocess.CompletedProcess[str]:
    """Print the codes that `load_rules` or `rule_index` gives, or the error, in a process that sees the pack."""
    code = f"""
import sys
from amplint.engine.registry import RegistryError, {question}
try:
    print(*(rule.code for rule in {question}()), "libcst" in sys.modules)
except RegistryError as error:
    print("RegistryError:", error)
"""
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)


both = pytest.mark.parametrize("question", ["load_rules", "rule_index"])


@both
def test_a_pack_without_index_is_imported(tmp_path: Path, question: str) -> None:
    make_pack(tmp_path, "my_rules", house001=RULE.format(code="HOUSE001", name="bad-house"), _helpers="1 / 0")
    *codes, libcst = ask(tmp_path, question).stdout.split()
    assert codes[-1] == "HOUSE001" and "AMP213" in codes
    assert libcst == "True"


def test_a_pack_with_an_index_is_not(tmp_path: Path) -> None:
    package = make_pack(tmp_path, "my_rules", house001="1 / 0")
    entry = '"code": "HOUSE001", "name": "bad-house", "summary": "", "fix": null, "default": true, "triggers": []'
    marks = '"severity": "info", "confidence": "low", "since": "1.0"'
    (package / "_index.json").write_text(f'[{{{entry}, "module": "house001", {marks}}}]')
    *codes, libcst = ask(tmp_path, "rule_index").stdout.split()
    assert (codes[-1], libcst) == ("HOUSE001", "False")


@pytest.mark.parametrize("index", ["[]", "{", '[{"code": "HOUSE001"}]', "7"])
def test_a_wrong_index_is_not_believed(tmp_path: Path, index: str) -> None:
    package = make_pack(tmp_path, "my_rules", house001=RULE.format(code="HOUSE001", name="bad-house"))
    (package / "_index.json").write_text(index)
    assert ask(tmp_path, "rule_index").stdout.split()[-2:] == ["HOUSE001", "True"]


@both
def test_a_broken_pack_is_named(tmp_path: Path, question: str) -> None:
    make_pack(tmp_path, "my_rules", house001="1 / 0")
    run = ask(tmp_path, question)
    message = "rule pack 'my_rules' cannot be loaded: ZeroDivisionError: division by zero"
    assert (run.stdout, run.stderr) == (f"RegistryError: {message}\n", "")


@both
def test_a_missing_pack_is_named(tmp_path: Path, question: str) -> None:
    package = make_pack(tmp_path, "my_rules")
    (package / "__init__.py").unlink()
    package.rmdir()
    run = ask(tmp_path, question)
    assert run.stdout.startswith("RegistryError: rule pack 'my_rules' cannot be loaded: ModuleNotFoundError")


@both
@pytest.mark.parametrize(
    ("code", "name", "shared"),
    [("AMP213", "bad-house", "AMP213"), ("HOUSE001", "positional-amp-argument", "positional-amp-argument")],
)
def test_a_code_or_name_taken_twice_is_refused(
    tmp_path: Path, question: str, code: str, name: str, shared: str
) -> None:
    make_pack(tmp_path, "my_rules", house001=RULE.format(code=code, name=name))
    run = ask(tmp_path, question)
    assert re.fullmatch("RegistryError: rule packs '(.+)' and '(.+)' both have a rule `(.+)`\n", run.stdout)
    assert f"`{shared}`" in run.stdout and "'my_rules'" in run.stdout and "'amplint_rules'" in run.stdout


@both
def test_a_code_taken_twice_in_one_pack_is_refused(tmp_path: Path, question: str) -> None:
    twice = {f"house00{number}": RULE.format(code="HOUSE001", name=f"bad-house-{number}") for number in (1, 2)}
    make_pack(tmp_path, "my_rules", **twice)
    run = ask(tmp_path, question)
    assert run.stdout == "RegistryError: rule pack 'my_rules' has two rules `HOUSE001`\n"


@both
def test_letters_that_another_pack_uses_are_refused(tmp_path: Path, question: str) -> None:
    make_pack(tmp_path, "my_rules", amp990=RULE.format(code="AMP990", name="bad-house"))
    run = ask(tmp_path, question)
    said = "rule packs 'amplint_rules' and 'my_rules' share a code prefix: AMP990 needs other letters"
    assert (run.stdout, run.stderr) == (f"RegistryError: {said}\n", "")
