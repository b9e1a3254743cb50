"""Fetch the packages pinned in manifest.toml, so that amplint can be run over code its authors did not write.

    python benchmarks/real_code/fetch.py [DEST] [--only NAME ...]

Each file is downloaded and checked against its sha256 by this interpreter's pip, and unpacked into
DEST/<name>-<version>/; DEST is build/real_code of the checkout when it is not given. A folder whose files are all as
they were unpacked is left alone; one that was edited is replaced. Prints a line per package. Exit code 2, with a
one-line error, when a download or a hash fails.
The sources of these packages belong to their authors and are never committed here.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib

MANIFEST = Path(__file__).with_name("manifest.toml")
DEST = Path(__file__).resolve().parent.parent.parent / "build" / "real_code"
RECEIPT = ".fetched"


class FetchError(Exception):
    """A package that could not be had as pinned; the text is one line."""


@dataclass(frozen=True)
class Package:
    """One pinned file of the manifest; of `partly` functions of it, amplint does not tell all paths apart."""

    name: str
    version: str
    file: str
    sha256: str
    partly: int = 0

    @property
    def folder(self) -> str:
        """Its folder under DEST."""
        return f"{self.name}-{self.version}"


def read_manifest(path: Path = MANIFEST) -> list[Package]:
    """The pinned packages, in the order of the manifest."""
    with path.open("rb") as stream:
        return [Package(**entry) for entry in tomllib.load(stream)["package"]]


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _download(package: Package, folder: Path) -> Path:
    # The hash is pip's to check, because it must hold before pip runs anything: an sdist is built to learn its name.
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    # The sources are read, never imported, so the python they ask for does not matter.
    command += ["--ignore-requires-python", "--dest", str(folder), "--requirement", str(wanted)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or not (folder / package.file).is_file():
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        raise FetchError(f"{package.folder}: {errors[-1][7:] if errors else f'pip gave no {package.file}'}")
    return folder / package.file


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    # Regular files only: links and devices have no place in a tree that is merely read.
    if archive.name.endswith((".whl", ".zip")):
        with zipfile.ZipFile(archive) as bundle:
            for info in bundle.infolist():
                if not info.is_dir():
                    yield info.filename, bundle.read(info)
    else:
        with tarfile.open(archive) as tar:
            for member in tar:
                stream = tar.extractfile(member) if member.isreg() else None
                if stream is not None:
                    yield member.name, stream.read()


def _unpack(package: Package, archive: Path, dest: Path) -> int:
    # Built beside its place and renamed, so that an interrupted run leaves nothing that looks complete.
    with tempfile.TemporaryDirectory(dir=dest, prefix=".unpacking-") as scratch:
        root = Path(scratch).resolve() / package.folder
        root.mkdir()
        receipt = [package.sha256]
        for name, content in _members(archive):
            target = (root / name).resolve()
            if not target.is_relative_to(root):
                raise FetchError(f"{package.folder}: {name!r} would be written outside its folder")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            receipt.append(f"{_sha256(content)}  {name}")
        (root / RECEIPT).write_text("\n".join(receipt) + "\n", encoding="utf-8")
        if (dest / package.folder).exists():
            shutil.rmtree(dest / package.folder)
        root.rename(dest / package.folder)
    return len(receipt) - 1


def _is_there(package: Package, folder: Path) -> bool:
    try:
        first, *rest = (folder / RECEIPT).read_text(encoding="utf-8").splitlines()
        files = [(digest, folder / name) for digest, name in (line.split("  ", 1) for line in rest)]
        return first == package.sha256 and all(_sha256(path.read_bytes()) == digest for digest, path in files)
    except (OSError, ValueError):
        return False


def fetch(package: Package, dest: Path) -> str:
    """Make `dest` hold the package as pinned; says what was done."""
    if _is_there(package, dest / package.folder):
        return "already there"
    with tempfile.TemporaryDirectory() as scratch:
        archive = _download(package, Path(scratch))
        return f"fetched, {_unpack(package, archive, dest)} files"


def main() -> int:
    packages = read_manifest()
    parser = argparse.ArgumentParser(description="Fetch the packages pinned in manifest.toml.")
    parser.add_argument("dest", type=Path, metavar="DEST", nargs="?", default=DEST)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[package.name for package in packages])
    arguments = parser.parse_args()
    arguments.dest.mkdir(parents=True, exist_ok=True)
    status = 0
    for package in packages:
        if arguments.only and package.name not in arguments.only:
            continue
        try:
            print(f"{package.folder}: {fetch(package, arguments.dest)}", flush=True)
        except (FetchError, OSError, zipfile.BadZipFile, tarfile.TarError) as error:
            status = 2
            print(f"error: {error}", file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
