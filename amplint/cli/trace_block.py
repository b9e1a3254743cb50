"""`amplint.trace`: a part of a program is watched, as `amplint trace` watches the whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from amplint.cli.console import Console
from amplint.cli.trace_outputs import TraceOutputs, seen_defects
from amplint.runtime.device_names import CPU, CUDA, EMULATED
from amplint.runtime.devices import require_torch
from amplint.tracing.trace_record import TraceRecord


@contextmanager
def traced_block(
    model: Any, steps: int, after: int, ops: bool, again: bool, emulated: bool,
    output: Path | None, html: Path | None, quiet: bool,
) -> Iterator[TraceRecord]:  # fmt: skip
    """Watch what runs inside.

    Args:
        model: where parameters get their names from.
        steps: end the block after so many steps of optimizers; 0 for never.
        after: look for values that are not finite from the step after that one on.
        ops: look at every operation of every step.
        again: run steps again.
        emulated: what is put on CUDA stays on the CPU.
        output: the file of steps.
        html: the page.
        quiet: say nothing at the end.

    Raises:
        DeviceError: there is no PyTorch.
        NoOutput: a file cannot be written.
    """
    torch = require_torch("tracing", "trace")
    from amplint.tracing.session import TraceOptions, block_traced

    device = EMULATED if emulated else CUDA if torch.cuda.is_available() else CPU
    outputs = TraceOutputs(output, html, Console(quiet), quiet)
    options = TraceOptions(device, steps, after, False, ops, again, outputs.keep)
    with closing(outputs):
        record = None
        try:
            with block_traced(options, seen_defects, model) as record:
                yield record
        finally:
            if record is not None:
                outputs.finish(record)
