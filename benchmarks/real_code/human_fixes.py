"""What `amplint verify NEW --against OLD` makes of commits in which people repaired a defect of mixed precision.

    python benchmarks/real_code/human_fixes.py CACHE [--mirrors FOLDER] [--only PART]

The commits are those of human_fixes.toml. CACHE is where both sides of each are laid out: fetched by git, or taken from the bare
repositories in the folder that `--mirrors` names. Each file that a defect stands in is judged with both whole trees around it.
Exit code 2, with a one-line error, when a commit cannot be had.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from repositories import Repository, RepositoryError, lay_out

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

MANIFEST = Path(__file__).with_name("human_fixes.toml")
NEAR = 3
"""How many lines a finding may be away from the place of the defect: a statement has several lines, and a defect several ends."""
NOT_FOUND, CONFIRMED, REFUTED = "not found", "confirmed", "refuted"


@dataclass(frozen=True)
class HumanFix:
    """A commit that repairs a defect, which stands at one of `places` (`FILE:LINE`), as a case of one of `codes`."""

    repository: str
    before: str
    after: str
    places: tuple[str, ...]
    codes: tuple[str, ...]
    torch: str = "2.3"

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the defect may be found in."""
        return tuple(dict.fromkeys(place.rpartition(":")[0] for place in self.places))

    def is_about(self, finding: dict[str, Any], file: str) -> bool:
        """Whether a finding in a file, as the evidence has it, is that of the defect."""
        lines = [int(line) for path, _, line in (place.rpartition(":") for place in self.places) if path == file]
        return finding["code"] in self.codes and any(abs(finding["row"] - line) <= NEAR for line in lines)


def read_manifest(path: Path = MANIFEST) -> list[HumanFix]:
    """The commits, in the order of the manifest."""
    with path.open("rb") as stream:
        entries = tomllib.load(stream)["fix"]
    return [HumanFix(**{**one, "places": tuple(one["places"]), "codes": tuple(one["codes"])}) for one in entries]


def judged(fix: HumanFix, cache: Path, mirrors: Path | None) -> dict[str, Any] | None:
    """The evidence on the finding of a defect; None where nothing is found.

    Raises:
        RepositoryError: the commit cannot be had.
    """
    before, after = (lay_out(Repository(fix.repository, each), cache, mirrors) for each in (fix.before, fix.after))
    for file in fix.files:
        for record in _verify(file, before.resolve(), after.resolve(), fix.torch):
            if record["verdict"] != "new" and fix.is_about(record["finding"], file):
                return record
    return None


@cache
def _verify(file: str, before: Path, after: Path, torch: str) -> list[dict[str, Any]]:
    """The evidence on one file of two trees, the settings of which do not count."""
    with tempfile.TemporaryDirectory() as scratch:
        written = Path(scratch, "evidence.jsonl")
        options = ["--isolated", "--torch-version", torch, "--device", "cuda-emulated", "--no-cache", "--quiet"]
        command = [sys.executable, "-m", "amplint", "verify", *options, "--evidence", str(written)]
        command += ["--against", str(before / file), "--", file]
        subprocess.run(command, cwd=after, stdout=subprocess.DEVNULL, check=False)
        lines = written.read_text("utf-8").splitlines() if written.exists() else []
    return [json.loads(line) for line in lines]


def report(known: Sequence[tuple[HumanFix, dict[str, Any] | None]]) -> Iterator[str]:
    """The summary of all evidence."""
    verdicts = Counter(NOT_FOUND if record is None else record["verdict"] for _, record in known)
    found = len(known) - verdicts[NOT_FOUND]
    yield ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    if found:
        yield f"{found} of {len(known)} found, {verdicts[CONFIRMED]} of these confirmed ({verdicts[CONFIRMED] / found:.0%})"


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path, metavar="CACHE", help="where the trees are laid out")
    parser.add_argument("--mirrors", type=Path, metavar="FOLDER", help="bare repositories to take them from")
    parser.add_argument("--only", default="", metavar="PART", help="only repositories with this in their name")
    wanted = parser.parse_args()
    known: list[tuple[HumanFix, dict[str, Any] | None]] = []
    try:
        for fix in (one for one in read_manifest() if wanted.only in one.repository):
            record = judged(fix, wanted.cache, wanted.mirrors)
            known.append((fix, record))
            said = NOT_FOUND if record is None else " ".join(f"{record['verdict']} {record['reason']}".split())
            print(f"{fix.repository} {fix.after[:7]} {fix.places[0]} {fix.codes[0]} {said}", flush=True)
    except RepositoryError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(report(known)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
