"""amplint finds, repairs and proves misuse of PyTorch automatic mixed precision."""

from __future__ import annotations

TYPE_CHECKING = False  # the module `typing` is slow to import, and linting a clean file needs it nowhere
if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager

    import torch

    from amplint.tracing.trace_record import TraceRecord

try:
    from amplint.system._version import __version__ as __version__
except ImportError:  # a copy of the files that was never built
    __version__ = "0+unknown"


def trace(
    model: torch.nn.Module | None = None,
    *,
    steps: int = 0,
    after: int = 0,
    ops: bool = False,
    again: bool = True,
    emulated: bool = False,
    output: str | os.PathLike[str] | None = None,
    html: str | os.PathLike[str] | None = None,
    quiet: bool = False,
) -> AbstractContextManager[TraceRecord]:
    """Watch the mixed precision of what runs inside `with`, as `amplint trace` watches a whole script.

    Args:
        model: where parameters get their names from, if parts of it are called before the whole.
        steps: end the block after so many steps of optimizers; 0 for never.
        after: look for values that are not finite from the step after that one on.
        ops: look at every operation of every step.
        again: run a step again where something has gone wrong, and once for the dtypes.
        emulated: what is put on CUDA stays on the CPU, with CUDA's dtypes.
        output: the file to write every step, and the whole run, to, as JSON lines.
        html: the file to write a page with charts to.
        quiet: say nothing on standard error at the end.

    Returns:
        A context manager; what it gives is complete when the block has ended.

    Raises:
        DeviceError: there is no PyTorch; on entering the block.
        NoOutput: a file cannot be written; on entering the block.
    """
    from pathlib import Path

    from amplint.cli.trace_block import traced_block

    lines, page = (None if each is None else Path(each) for each in (output, html))
    return traced_block(model, steps, after, ops, again, emulated, lines, page, quiet)
