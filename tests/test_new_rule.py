"""The scaffold makes a rule of each kind that works: its own tests pass, and its fixture has the finding that is marked."""

from __future__ import annotations

from pathlib import Path

import pytest
from checkout import copy_checkout, run_python

KINDS = {"AMP299": "syntax", "AMP199": "protocol", "AMP399": "dtype"}
SHARED = ["amplint/model/protocol/hazard.py", "amplint/model/protocol/hazards/__init__.py"]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout in which a rule of each kind has been made."""
    made = copy_checkout(tmp_path_factory.mktemp("checkout"))
    for code, kind in KINDS.items():
        run = run_python(made, "scripts/new_rule.py", code, f"bad-{kind}", "--kind", kind)
        assert (run.returncode, run.stderr) == (0, "")
        stem = f"{code.lower()}_bad_{kind}"
        files = [f"rules/{stem}.py", *(f"fixtures/{stem}/{name}_textbook.py" for name in ("flagged", "clean"))]
        if kind == "protocol":
            files += ["amplint/model/protocol/hazards/bad_protocol.py", *SHARED]
        assert run.stdout.split() == files and all((made / file).is_file() for file in files)
    return made


@pytest.mark.parametrize("code", KINDS)
def test_its_tests_pass(checkout: Path, code: str) -> None:
    run = run_python(checkout, "-m", "pytest", "-p", "no:cacheprovider", "--rule", code, "--all-dresses")
    assert run.returncode == 0, run.stdout
    for name in ("flagged", "clean"):
        text = (checkout / "fixtures" / f"{code.lower()}_bad_{KINDS[code]}" / f"{name}_textbook.py").read_text("utf-8")
        assert (f"# expect: {code} none" in text) is (name == "flagged")


def test_a_taken_code_or_name_is_refused(checkout: Path) -> None:
    before = {path: (checkout / path).read_text("utf-8") for path in SHARED}
    for code, name in (("AMP399", "another-pattern"), ("AMP398", "bad-dtype")):
        run = run_python(checkout, "scripts/new_rule.py", code, name, "--kind", "protocol")
        assert (run.returncode, run.stdout) == (2, "")
        assert run.stderr == f"new_rule: {code} {name} is taken by rules/amp399_bad_dtype.py\n"
    assert before == {path: (checkout / path).read_text("utf-8") for path in SHARED}


@pytest.mark.parametrize(("code", "name"), [("AMP01", "some-pattern"), ("AMP398", "Pattern"), ("X", "y")])
def test_malformed_names_are_refused(checkout: Path, code: str, name: str) -> None:
    run = run_python(checkout, "scripts/new_rule.py", code, name)
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1
