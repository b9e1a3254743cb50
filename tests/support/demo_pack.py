"""A rule pack of four simple rules, so that the command line can be tested whatever the built-in rules find.

Each flags the calls of one function: `demo_safe()`, `demo_unsafe()`, `demo_display()`, and `demo_optional()`, which runs only
when it is selected. Their fixes replace the name, and `demo_broken()` has one that would break the file.
"""

from __future__ import annotations

from pathlib import Path

_RULE = '''"""{summary}.

## What it does
Flags calls of `demo_{word}`.
"""

from amplint.diagnostics import Applicability, Edit, Fix, Related
from amplint.rule import ERROR, HIGH, Finding, rule
import libcst


@rule({code!r}, {name!r}, ERROR, HIGH, "1.0", fix=Applicability.{trust}, default={default}, triggers=("^demo_{word}$",))
def check(file):
    for call in file.tree.find(libcst.Call):
        if isinstance(call.func, libcst.Name) and call.func.value == "demo_{word}":
            place = file.range(call.func)
            fix = Fix("Replace with `{better}`", (Edit(place.start.offset, place.end.offset, {better!r}),), Applicability.{trust})
            first = file.source.range(0, 1)
            yield Finding(place, "`demo_{word}` is called", "it is {word}", (Related("the file begins here", first),), fix)
'''

_RULES = (
    ("DEM101", "demo-safe", "safe", "SAFE", True, "good"),
    ("DEM102", "demo-unsafe", "unsafe", "UNSAFE", True, "good"),
    ("DEM103", "demo-display", "display", "DISPLAY", True, "good"),
    ("DEM201", "demo-optional", "optional", "SAFE", False, "good"),
    ("DEM301", "demo-broken", "broken", "SAFE", True, "("),
)


def install(site: Path) -> Path:
    """Install the pack into a folder, which must be on `sys.path` or in `PYTHONPATH` to be found; returns the folder."""
    package = site / "demo_rules"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for code, name, word, trust, default, better in _RULES:
        text = _RULE.format(
            summary=f"Calls of demo_{word}",
            code=code,
            name=name,
            word=word,
            trust=trust,
            default=default,
            better=better,
        )
        (package / f"{code.lower()}_{name.replace('-', '_')}.py").write_text(text)
    metadata = site / "demo_rules-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text("[amplint.rules]\ndemo = demo_rules\n")
    return site
