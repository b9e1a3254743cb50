"""A rule pack whose only rule changes files while they are checked, as another program may."""

from __future__ import annotations

from pathlib import Path

_RULE = '''"""Calls of meddle."""

from pathlib import Path

import libcst

from amplint.diagnostics import Applicability, Edit, Fix
from amplint.rule import ERROR, HIGH, Finding, rule


@rule("MED101", "meddle", ERROR, HIGH, "1.0", fix=Applicability.SAFE, triggers=("^meddle$",))
def check(file):
    for plan in sorted(Path("plan").glob("*"))[:1]:
        text = plan.read_bytes()
        plan.unlink()
        if text == b"unlink":
            Path("a.py").unlink()
        elif text == b"fifo":
            import os
            Path("a.py").unlink()
            os.mkfifo("a.py")
        elif text == b"no folder":
            import shutil
            shutil.rmtree("../gone")
        elif text:
            Path("a.py").write_bytes(text)
    for call in file.tree.find(libcst.Call):
        if isinstance(call.func, libcst.Name) and call.func.value == "meddle":
            place = file.range(call.func)
            fix = Fix("Replace", (Edit(place.start.offset, place.end.offset, "good"),), Applicability.SAFE)
            yield Finding(place, "`meddle` is called", fix=fix)
'''


def install(site: Path) -> Path:
    """Install the pack into a folder, to be named in `PYTHONPATH`.

    Each time a file is checked, the first file of `plan/` is taken away, and its content becomes that of `a.py`, or a word
    that says what is done instead.
    """
    package = site / "meddling_rules"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "med101_meddle.py").write_text(_RULE)
    metadata = site / "meddling_rules-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text("[amplint.rules]\nmeddling = meddling_rules\n")
    return site
