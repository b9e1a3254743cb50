"""An earlier revision of amplint, installed beside today's, so that both can be timed in turn."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from pathlib import Path

from measuring import BenchmarkError, prepare

_ROOT = Path(__file__).parent.parent


def install(revision: str, python: str, work_dir: Path) -> Path:
    """Install a revision of this repository into a virtual environment of its own, once.

    Args:
        revision: what git calls it.
        python: the interpreter that it shall run in.
        work_dir: where virtual environments are kept.

    Returns:
        The interpreter of the virtual environment.

    Raises:
        BenchmarkError: there is no such revision, or it cannot be installed.
    """
    commit = _git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    with tempfile.TemporaryDirectory() as source:
        with tarfile.open(fileobj=io.BytesIO(_git("archive", commit))) as archive:
            archive.extractall(source, filter="data")
        home = work_dir / f"amplint-{commit[:12]}"
        home.mkdir(parents=True, exist_ok=True)
        prepare(home, python, [source], commit)
    return home / "bin" / "python"


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(_ROOT), *arguments], capture_output=True)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().rpartition("\n")[2] or "no such revision"
        raise BenchmarkError(f"git {' '.join(arguments)}: {reason}")
    return done.stdout
