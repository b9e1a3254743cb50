"""Makes a new rule: `python scripts/new_rule.py AMP216 some-bad-pattern`.

Writes the module, the folder of fixtures, and a first fixture that fails until the rule finds something.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from amplint import __version__

ROOT = Path(__file__).resolve().parent.parent

MODULE = '''"""Say in one line what is wrong.

## What it does
Say which code is flagged, and which look-alikes are not.

## Why it matters
Say what happens to the training run, with the numbers that hold.

## Example
```python
import torch

with torch.autocast("cuda"):
    torch.{function}(model)
```

## Use instead
```python
import torch

with torch.autocast("cuda"):
    model.train()
```

## Fix safety
There is no fix.

## Limitations
Say what the rule does not see.

## References
- https://docs.pytorch.org/docs/stable/amp.html
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.rule import MEDIUM, WARNING, File, Finding, rule

_CULPRITS = frozenset({{"torch.{function}"}})


@rule("{code}", "{name}", WARNING, MEDIUM, "{since}")
def check(file: File) -> Iterator[Finding]:
    """Every call of a culprit."""
    for call in file.tree.find(cst.Call):
        if file.names.all_in(call.func, _CULPRITS):
            yield Finding(file.range(call), "Say what is wrong here, as one fact", "say why")
'''

FIXTURE = """import torch


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = model(x, y)
        scaler.scale(loss).backward()  # expect: {code} none
        scaler.step(optimizer)
        scaler.update()
"""


class Refused(Exception):
    """The rule cannot be made; the message is one line."""


def new_rule(code: str, name: str) -> list[Path]:
    """Make the files of a rule.

    Raises:
        Refused: code or name are malformed or taken.
    """
    if not re.fullmatch(r"AMP[1-9]\d\d", code):
        raise Refused(f"{code!r} is no code: AMP and three digits, the first of them not 0")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", name):
        raise Refused(f"{name!r} is no name: lower-case words joined by hyphens, naming the bad pattern")
    for path in sorted((ROOT / "rules").glob("amp*.py")):
        taken_code, _, taken_name = path.stem.partition("_")
        if code.lower() == taken_code or name.replace("-", "_") == taken_name:
            raise Refused(f"{code} {name} is taken by rules/{path.name}")
    snake = name.replace("-", "_")
    stem = f"{code.lower()}_{snake}"
    files = {
        ROOT / "rules" / f"{stem}.py": MODULE.format(code=code, name=name, function=snake, since=__version__),
        ROOT / "fixtures" / stem / "flagged_textbook.py": FIXTURE.format(code=code),
    }
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
    return list(files)


def main() -> int:
    """The command; exits with 2 when the rule cannot be made."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("code", help="such as AMP216; codes are never reused")
    parser.add_argument("name", help="what is wrong, such as clip-before-unscale")
    arguments = parser.parse_args()
    try:
        made = new_rule(arguments.code, arguments.name)
    except Refused as refusal:
        print(f"new_rule: {refusal}", file=sys.stderr)
        return 2
    for path in made:
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
