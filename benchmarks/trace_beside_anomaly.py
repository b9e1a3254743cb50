"""The programs of tests/tracing under `torch.autograd.detect_anomaly`: of how many it names the line at fault.

    python benchmarks/trace_beside_anomaly.py

Counted are the programs in which a value becomes inf or NaN; what `detect_anomaly` says of a program is the innermost line of it
in the last traceback that it prints. `tests/tracing/test_programs.py` holds `amplint trace` to the same lines.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import re
import runpy
import sys
import warnings
from pathlib import Path

_PROGRAMS = Path(__file__).parent.parent / "tests" / "tracing" / "programs"
_MARK = "# here"


def _named(path: Path) -> str:
    """The line of a program that is named; empty for none."""
    import torch

    from amplint.tracing.cuda_scripts import cuda_on_cpu

    device = cuda_on_cpu() if "cuda" in path.read_text() else contextlib.nullcontext()
    said = io.StringIO()
    with contextlib.redirect_stderr(said), warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter("always")
        with contextlib.suppress(Exception), device, torch.autograd.detect_anomaly():
            runpy.run_path(str(path), run_name="__main__")
    text = "\n".join([said.getvalue(), *(str(one.message) for one in kept)])
    places: list[str] = re.findall(re.escape(path.name) + r'", line (\d+)', text)
    return places[-1] if places else ""


def main() -> int:
    """Say of each program whether its line is named."""
    right = counted = 0
    processes = multiprocessing.get_context("forkserver")  # each program has its own, which finds PyTorch loaded
    processes.set_forkserver_preload(["torch", "amplint.tracing.cuda_scripts"])
    for path in sorted(_PROGRAMS.glob("*.py")):
        lines = path.read_text().splitlines()
        if lines[1].startswith(("# expect: AMP", "# expect: warning")):
            continue
        with processes.Pool(1) as pool:
            named = pool.apply(_named, (path,))
        counted += 1
        right += named.isdigit() and _MARK in lines[int(named) - 1]
        print(f"{path.stem}: {named or 'nothing'}", flush=True)
    print(f"{right} of {counted}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
