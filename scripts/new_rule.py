"""Makes a new rule: `python scripts/new_rule.py AMP216 some-bad-pattern --kind protocol`.

Writes the module, the folder of fixtures, a fixture with a finding and one without: a working start, whose placeholder finds
something harmless. A protocol rule also gets its kind of hazard, and the function that judges it.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from amplint import __version__

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = Path(__file__).resolve().parent / "rule_templates"
"""A folder for each kind of rule; in it stand `AMP000`, `some-bad-pattern`, and the name's other spellings."""

PROTOCOL = Path("amplint", "model", "protocol")


class Refused(Exception):
    """The rule cannot be made; the message is one line."""


def new_rule(code: str, name: str, kind: str) -> list[Path]:
    """Make the files of a rule, and in those of the engine its kind of hazard, if it is to have one.

    Args:
        code: such as "AMP216".
        name: what is wrong, such as "clip-before-unscale".
        kind: the name of a folder of templates: "syntax", "dtype" or "protocol".

    Returns:
        What was made or changed, relative to the checkout.

    Raises:
        Refused: code or name are malformed or taken; nothing was written.
    """
    _look(code, name)
    stem = f"{code.lower()}_{name.replace('-', '_')}"
    texts = {
        Path("rules", f"{stem}.py"): _filled(kind, "rule", code, name),
        Path("fixtures", stem, "flagged_textbook.py"): _filled(kind, "flagged_textbook", code, name),
        Path("fixtures", stem, "clean_textbook.py"): _filled(kind, "clean_textbook", code, name),
    }
    if kind == "protocol":
        module = name.replace("-", "_")
        texts[PROTOCOL / "hazards" / f"{module}.py"] = _filled(kind, "judgement", code, name)
        texts[PROTOCOL / "hazard.py"] = _with_kind(_read(PROTOCOL / "hazard.py"), name)
        texts[PROTOCOL / "hazards" / "__init__.py"] = _with_judgement(
            _read(PROTOCOL / "hazards" / "__init__.py"), module
        )
    for path, text in texts.items():
        (ROOT / path).parent.mkdir(exist_ok=True)
        (ROOT / path).write_text(text, "utf-8", newline="\n")
    return list(texts)


def _look(code: str, name: str) -> None:
    if not re.fullmatch(r"AMP[1-9]\d\d", code):
        raise Refused(f"{code!r} is no code: AMP and three digits, the first of them not 0")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", name):
        raise Refused(f"{name!r} is no name: lower-case words joined by hyphens, naming the bad pattern")
    for path in sorted((ROOT / "rules").glob("amp*.py")):
        taken_code, _, taken_name = path.stem.partition("_")
        if code.lower() == taken_code or name.replace("-", "_") == taken_name:
            raise Refused(f"{code} {name} is taken by rules/{path.name}")


def _read(path: Path) -> str:
    return (ROOT / path).read_text("utf-8")


def _filled(kind: str, part: str, code: str, name: str) -> str:
    """A template with code, name and version in it."""
    snake = name.replace("-", "_")
    words = {
        "AMP000": code,
        "0.0.0": __version__,
        "some-bad-pattern": name,
        "some_bad_pattern": snake,
        "SOME_BAD_PATTERN": snake.upper(),
    }
    text = (TEMPLATES / kind / f"{part}.py").read_text("utf-8")
    for placeholder, word in words.items():
        text = text.replace(placeholder, word)
    return text


def _with_kind(text: str, name: str) -> str:
    """The enumeration of the kinds of hazard, with one more."""
    members = re.findall(r'^    [A-Z0-9_]+ = "[a-z0-9-]+"\n', text, re.MULTILINE)
    more = sorted([*members, f'    {name.replace("-", "_").upper()} = "{name}"\n'])
    return _replaced(text, "".join(members), "".join(more))


def _with_judgement(text: str, module: str) -> str:
    """The judgement of events, which asks one more function about the steps of scalers."""
    imported = re.search(r"(?<=from amplint.model.protocol.hazards import ).+", text)
    judged = re.search(r"case events\.ScalerStep\(\):\n(?: .*\n)*? +return \(", text)
    if imported is None or judged is None:
        raise Refused(f"{PROTOCOL / 'hazards' / '__init__.py'} does not look as this script knows it")
    names = ", ".join(sorted([*imported[0].split(", "), module]))
    text = _replaced(text, judged[0], f"{judged[0]}*{module}.scaler_step(known, state, event), ")
    return _replaced(text, imported[0], names)


def _replaced(text: str, old: str, new: str) -> str:
    if not old or text.count(old) != 1:
        raise Refused("the kinds of hazard do not stand as this script knows them")
    return text.replace(old, new)


def main() -> int:
    """The command; exits with 2 when the rule cannot be made."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("code", help="such as AMP216; codes are never reused")
    parser.add_argument("name", help="what is wrong, such as clip-before-unscale")
    parser.add_argument(
        "--kind",
        choices=sorted(path.name for path in TEMPLATES.iterdir()),
        default="syntax",
        help="what it asks about: names and calls, the dtypes of values, or the order of what scalers and optimizers do",
    )
    arguments = parser.parse_args()
    try:
        made = new_rule(arguments.code, arguments.name, arguments.kind)
    except Refused as refusal:
        print(f"new_rule: {refusal}", file=sys.stderr)
        return 2
    for path in made:
        print(path.as_posix())
    return 0


if __name__ == "__main__":
    sys.exit(main())
