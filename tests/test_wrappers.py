"""What amplint knows of libraries that scale on their own: training scripts that use them, and the table of what is known.

The scripts of `tests/wrappers` carry the marks of fixtures. `pytest tests/test_wrappers.py --write-fixed` writes what the
fixes make of them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from checkout import ROOT

import amplint
from amplint.diagnostics import FileReport
from amplint.engine.checker import check_source, withdraw
from amplint.engine.config import Settings
from amplint.engine.fixer import fix_source
from amplint.engine.relevance import matters
from amplint.model.libraries import LIBRARIES, Library
from amplint.source import Source
from amplint.testing.fixtures import findings_as_marks, read_marks

SCRIPTS = ROOT / "tests" / "wrappers"
STUBS = Path(amplint.__file__).parent / "wrappers"
ALL = [path for path in sorted(SCRIPTS.glob("*/*.py")) if not path.name.endswith(".fixed.py")]
script = pytest.mark.parametrize("path", ALL, ids=lambda path: f"{path.parent.name}/{path.stem}")


def settings_of(path: Path) -> Settings:
    """Every rule runs, also those that have to be asked for."""
    return Settings(path.parent, select=("ALL",))


def check(path: Path, source: Source | None = None) -> FileReport:
    source = source or Source.from_bytes(str(path), path.read_bytes())
    report = check_source(source, settings_of(path), path)
    return withdraw(report, report.facts)


def read_for(path: Path) -> set[str]:
    """The wrappers that were opened to judge a file."""
    return {Path(name).name.removesuffix(".pyi") for name, _ in check(path).footing.files if name.endswith(".pyi")}


@script
def test_scripts_are_judged_as_marked(path: Path) -> None:
    report = check(path)
    marks = read_marks(path.read_text())
    assert not report.error
    assert sorted(findings_as_marks(report).elements()) == sorted(marks.expect.elements())
    assert bool(marks.expect) is path.name.startswith("flagged_")
    assert not marks.expect or matters(path.read_bytes(), Settings(path.parent)), "the gate keeps it out"


@script
def test_fixes_leave_what_the_library_does_itself(path: Path, write_fixed: bool) -> None:
    source = Source.from_bytes(str(path), path.read_bytes())
    outcome = fix_source(source, lambda text: check(path, text), unsafe=True)
    target = path.with_name(f"{path.stem}.fixed.py")
    assert not outcome.error
    if outcome.text == source.text:
        assert not target.exists(), "nothing can be fixed here"
        return
    if write_fixed:
        target.write_text(outcome.text)
    assert target.read_text() == outcome.text
    assert all(each.fix is None for each in outcome.report.diagnostics)


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_every_library_of_the_table_has_scripts(library: Library) -> None:
    names = {path.name.partition("_")[0] for path in (SCRIPTS / library.roots[0].partition(".")[0]).glob("*.py")}
    stubs = [path for path in STUBS.glob("*.pyi") if path.name.partition(".")[0] in library.tops]
    assert "clean" in names
    assert ("flagged" in names) is bool(library.follows)
    assert library.follows or not stubs


def test_every_stub_belongs_to_a_library_of_the_table() -> None:
    tops = {top for library in LIBRARIES for top in library.tops}
    assert {path.name.partition(".")[0] for path in STUBS.iterdir()} <= tops


@pytest.mark.parametrize("stub", sorted(STUBS.glob("*.pyi")), ids=lambda path: path.stem)
def test_stubs_hand_on_what_other_stubs_define(stub: Path) -> None:
    """A stub is found under its name, and what it imports from another one is really there."""
    module = stub.name.removesuffix(".pyi")
    text = stub.read_text()
    assert module in text.splitlines()[0]
    for source, name in re.findall(r"^from ([\w.]+) import \w+ as (\w+)$", text, re.MULTILINE):
        defined = (STUBS / f"{source}.pyi").read_text()
        assert f"def {name}(" in defined or f"class {name}" in defined


def test_stubs_are_read_for_files_that_import_the_library_only(tmp_path: Path) -> None:
    plain = tmp_path / "plain.py"
    plain.write_text((SCRIPTS / "native_scaler_copies" / "clean_norm_count.py").read_text())
    assert read_for(plain) == set()
    assert read_for(SCRIPTS / "accelerate" / "flagged_torch_clip.py") == {"accelerate"}
    assert read_for(SCRIPTS / "timm" / "flagged_dispatch_before_unscale.py") == {"timm.utils"}


PRECISIONS = {
    'Accelerator(mixed_precision="fp16")': ["AMP101"],
    'Accelerator(True, mixed_precision="fp16")': ["AMP101"],
    'Accelerator(mixed_precision="bf16")': [],
    'Accelerator(mixed_precision="no")': [],
    "Accelerator()": [],
    "Accelerator(mixed_precision=precision)": [],
    "Accelerator(mixed_precision=HALF)": ["AMP101"],
    "Accelerator(mixed_precision=CHANGED)": [],
    'Accelerator(mixed_precision="fp16" if precision else "no")': ["AMP101"],
    "Accelerator(mixed_precision=HALF if precision else CHANGED)": ["AMP101"],
    "Accelerator(mixed_precision=args.precision)": ["AMP101"],
    "Accelerator(mixed_precision=args.full_precision)": [],
    "Accelerator(mixed_precision=args.other)": [],
    "Accelerator(**options)": [],
    'Accelerator(mixed_precision="fp16", cpu=True)': [],
    'Accelerator(mixed_precision="fp16", deepspeed_plugin=plugin)': [],
    'Accelerator(mixed_precision="fp16", project_dir=folder)': ["AMP101"],
}


@pytest.mark.parametrize("maker", PRECISIONS)
def test_the_precision_must_stand_in_the_text(maker: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    text = (SCRIPTS / "accelerate" / "flagged_torch_clip.py").read_text()
    names = 'HALF = "fp16"\nCHANGED = "fp16"\nCHANGED = "no"\n'
    names += 'parser.add_argument("--precision", choices=("no", "fp16"))\n'
    names += 'parser.add_argument("--full-precision", default="no")\n'
    path.write_text(names + text.replace('Accelerator(mixed_precision="fp16")', maker))
    assert [each.code for each in check(path).diagnostics] == PRECISIONS[maker]


def test_a_wrapper_of_the_project_goes_before_amplints(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text((SCRIPTS / "accelerate" / "flagged_torch_clip.py").read_text())
    (tmp_path / "mine.py").write_text("class Accelerator:\n    def backward(self, loss):\n        loss.backward()\n")
    source = Source.from_bytes(str(path), path.read_bytes())
    settings = Settings(tmp_path, wrappers=(("accelerate", "mine.py"),))
    assert [each.code for each in check_source(source, Settings(tmp_path), path).diagnostics] == ["AMP101"]
    assert check_source(source, settings, path).diagnostics == ()
