"""How many defects amplint finds that are put into real repositories, one line at a time.

    python benchmarks/injected_defects/inject.py FOLDER ... [--kinds KIND ...] [--files N] [--seed N] [--output FILE]

A FOLDER holds the Python files of a repository that is taken to be right, and is left as it is: a copy is changed. For each
kind of change (changes.py) one place is chosen by chance. The copy is checked with the change and without;
the defect counts as found when the change brings a finding of an expected code, in whichever file. Prints a line for each
place, and a table. Code that nobody calls and tests are among the places, so that not every miss is a fault.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from changes import KINDS, Kind
from source import Source

Finding = tuple[str, str, str]
"""The file, the code and the message, both without lines, since a change moves what follows."""


@dataclass(frozen=True)
class Outcome:
    """What came of one change: the codes of the findings that it brought, and whether an expected one is among them."""

    tree: str
    file: str
    line: int
    kind: str
    brought: tuple[str, ...]
    found: bool


def outcomes(tree: Path, kinds: Sequence[Kind], files: int, seed: int) -> Iterator[Outcome]:
    """Put a defect of each kind into a copy of a repository, one after the other.

    Args:
        tree: the folder of the repository.
        kinds: the kinds of change.
        files: trees of more Python files than this are passed over.
        seed: of the chance that chooses a place.

    Yields:
        What came of each kind that has a place there.

    Raises:
        RuntimeError: amplint fails on the repository.
    """
    if sum(1 for _ in tree.rglob("*.py")) > files:
        return
    with tempfile.TemporaryDirectory() as scratch:
        copy, cache = Path(scratch, tree.name), Path(scratch, "cache")
        shutil.copytree(tree, copy)
        places = _places(copy, kinds)
        before = _findings(copy, cache) if places else Counter()
        for kind in (one for one in kinds if one in places):
            path, line, text = random.Random(f"{seed} {kind.name}").choice(places[kind])
            kept = path.read_bytes()
            path.write_text(text, "utf-8")
            codes = tuple(code for _, code, _ in (_findings(copy, cache) - before).elements())
            path.write_bytes(kept)
            yield Outcome(
                tree.name, str(path.relative_to(copy)), line, kind.name, codes, not kind.codes.isdisjoint(codes)
            )


def _places(tree: Path, kinds: Sequence[Kind]) -> dict[Kind, list[tuple[Path, int, str]]]:
    """The places of each kind in a repository, and the texts that its change makes of their files."""
    places: dict[Kind, list[tuple[Path, int, str]]] = {}
    for path in sorted(tree.rglob("*.py")):
        try:
            text = path.read_text("utf-8")
            if "\t" in text or not any(word in text for word in ("caler", "autocast")):
                continue
            source = Source(text)
            for kind in kinds:
                for line, changed in kind.places(source):
                    if _is_python(changed):
                        places.setdefault(kind, []).append((path, line, changed))
        except (OSError, ValueError, SyntaxError, RecursionError):
            continue
    return places


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _findings(tree: Path, cache: Path) -> Counter[Finding]:
    options = ["--isolated", "--cache-dir", str(cache), "--torch-version", "2.4", "--select", "AMP1,AMP2"]
    options += ["--ignore", "AMP209", "--output-format", "json", "--exit-zero", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "amplint", "check", *options, "."], cwd=tree, capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{tree.name}: {done.stderr.strip().rpartition(chr(10))[2]}")
    return Counter(
        (one["filename"], one["code"], re.sub(r"\d+", "", one["message"])) for one in json.loads(done.stdout)
    )


def table(known: Sequence[Outcome]) -> Iterator[str]:
    """A row for each kind of change, in Markdown."""
    yield "| change | expected | found |\n|---|---|---:|"
    for kind in KINDS.values():
        found = [one.found for one in known if one.kind == kind.name]
        if found:
            yield f"| {kind.words} | {', '.join(sorted(kind.codes))} | {sum(found)} of {len(found)} |"


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="a repository, laid out as files")
    parser.add_argument(
        "--kinds", nargs="+", choices=list(KINDS), default=list(KINDS), metavar="KIND", help=", ".join(KINDS)
    )
    parser.add_argument(
        "--files", type=int, default=90, metavar="N", help="pass over repositories of more Python files (90)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the chance that chooses a place (0)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write each outcome there too, a line of JSON each")
    wanted = parser.parse_args()
    known: list[Outcome] = []
    try:
        for folder in wanted.folders:
            for one in outcomes(folder, [KINDS[name] for name in wanted.kinds], wanted.files, wanted.seed):
                known.append(one)
                said = "found" if one.found else "missed"
                print(
                    f"{one.tree}/{one.file}:{one.line} {one.kind} {said} {' '.join(one.brought)}".rstrip(), flush=True
                )
                if wanted.output is not None:
                    with wanted.output.open("a", encoding="utf-8") as stream:
                        stream.write(json.dumps(asdict(one)) + "\n")
    except (RuntimeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(table(known)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
