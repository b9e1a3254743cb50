"""A rule pack whose rules misbehave where a file asks for it: they crash, kill their process, hang, or want to know more."""

from __future__ import annotations

from pathlib import Path

_RULE = '''"""Misbehaves on `{word}`."""

import os, signal, sys, time

import libcst

from amplint.rule import ERROR, HIGH, Finding, rule


def spin():
    while True:
        try:
            sum(range(100_000))
        except Exception:
            pass


def grow():
    held = []
    while True:
        held.append(bytearray(1_000_000))


@rule({code!r}, {name!r}, ERROR, HIGH, "1.0", triggers=("^{word}$",))
def check(file):
    yield from ()
    for node in file.tree.find(libcst.Name):
        if node.value == "{word}":
            {action}
'''

_ACTIONS = {
    "crashes": 'raise ValueError("no luck\\nat all")',
    "recurses": "yield from check.check(file)",
    "kills": "os.kill(os.getpid(), signal.SIGKILL)",
    "exits": "os._exit(3)",
    "hangs": 'open("hanging", "w").close(); time.sleep(600)',
    "flags": 'yield Finding(file.range(node), "Flagged")',
    "wonders": 'yield Finding(file.range(node), "Flagged with reserve", needs=frozenset(["mixed-precision"]))',
    "spins": "spin()",
    "grows": "grow()",
    "babbles": 'raise ValueError("no end " * 1000)',
    "naps": 'open("napping", "w").close(); time.sleep(2)',
    "notes": 'open("noted", "w").close()',
}


def install(site: Path) -> Path:
    """Install the pack into a folder, to be named in `PYTHONPATH`; the words are those above with `_here` behind them."""
    package = site / "misbehaving_rules"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for number, (word, action) in enumerate(_ACTIONS.items(), 1):
        text = _RULE.format(word=f"{word}_here", code=f"BAD{number:03}", name=f"{word}-here", action=action)
        (package / f"bad{number:03}_{word}.py").write_text(text)
    metadata = site / "misbehaving_rules-1.0.dist-info"
    metadata.mkdir()
    (metadata / "entry_points.txt").write_text("[amplint.rules]\nmisbehaving = misbehaving_rules\n")
    return site
