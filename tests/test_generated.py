"""What is generated is up to date, and the check notices when it is not."""

from __future__ import annotations

from pathlib import Path

from checkout import ROOT, copy_checkout, run_python

from amplint.engine.registry import RuleInfo, load_rules, rule_index


def test_everything_generated_is_up_to_date() -> None:
    run = run_python(ROOT, "scripts/generate.py", "--check")
    assert (run.returncode, run.stderr) == (0, "")


def test_the_index_says_what_the_rules_say() -> None:
    assert rule_index() == tuple(map(RuleInfo.of, load_rules()))


def test_the_index_is_read_without_libcst() -> None:
    code = "import sys; from amplint.engine.registry import rule_index; rule_index(); print('libcst' in sys.modules)"
    assert run_python(ROOT, "-c", code).stdout == "False\n"


def test_check_names_what_is_out_of_date(tmp_path: Path) -> None:
    checkout = copy_checkout(tmp_path)
    assert run_python(checkout, "scripts/generate.py").returncode == 0
    page = sorted((checkout / "docs" / "rules").glob("*.md"))[0]
    page.write_text("changed by hand")
    (checkout / "docs" / "rules" / "amp001.md").write_text("of a rule that is gone")
    run = run_python(checkout, "scripts/generate.py", "--check")
    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        f"docs/rules/{page.name} is out of date",
        "docs/rules/amp001.md is out of date",
    ]
    assert page.read_text() == "changed by hand"
    assert run_python(checkout, "scripts/generate.py").returncode == 0
    assert run_python(checkout, "scripts/generate.py", "--check").returncode == 0
