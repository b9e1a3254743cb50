"""What a replay can run on: the GPU, CPU tensors under CUDA's autocast table, the CPU. Imports torch when asked to."""

from __future__ import annotations

import importlib
import platform
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from amplint.runtime.device_names import AUTO, CHOICES, CPU, CUDA, EMULATED

__all__ = [
    "AUTO",
    "CHOICES",
    "CPU",
    "CUDA",
    "EMULATED",
    "OLDEST",
    "Device",
    "DeviceError",
    "find_device",
    "import_optimizers",
    "require_torch",
]

OLDEST = (2, 4)
"""The oldest PyTorch that replays run on."""


class DeviceError(Exception):
    """A device, or PyTorch itself, is not there; the message is one line."""


@dataclass(frozen=True)
class Device:
    """What verdicts were obtained on.

    Attributes:
        kind: `cuda`, `cuda-emulated` or `cpu`.
        name: the model of the GPU or the CPU.
        capability: the compute capability of a GPU ("9.0"), the instruction set that torch uses on a CPU ("AVX2").
        torch: the version of PyTorch.
    """

    kind: str
    name: str
    capability: str
    torch: str


def require_torch(work: str = "replaying", extra: str = "verify") -> ModuleType:
    """Import PyTorch.

    Args:
        work: what needs it.
        extra: what brings it, of the extras of amplint.

    Raises:
        DeviceError: it is not installed, too old, or broken.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no NumPy beside it, for one, which nothing here needs
            torch = importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise DeviceError(f"PyTorch cannot be imported: {error}") from error
        torch = ModuleType("torch")
    except (ImportError, OSError) as error:
        raise DeviceError(f"PyTorch cannot be imported: {' '.join(str(error).split())}") from error
    version = re.match(r"(\d+)\.(\d+)", getattr(torch, "__version__", ""))
    if version is None:  # not there, or a mere folder of that name
        raise DeviceError(f"{work} needs PyTorch; install it with: pip install 'amplint[{extra}]'")
    if (int(version[1]), int(version[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise DeviceError(f"{work} needs PyTorch {oldest} or newer, and this is {torch.__version__}")
    return torch


def import_optimizers() -> None:
    """Import what the first optimizer needs, as much again as torch itself: once, for all processes that are forked."""
    torch = require_torch()
    torch.optim.SGD([torch.zeros(1)], lr=0.1)


def find_device(choice: str) -> Device:
    """The device that one of `CHOICES` means here. Sets CUDA up where it is there: not for a process that is to fork.

    Raises:
        DeviceError: there is no PyTorch or no such device.
    """
    torch = require_torch()
    if choice in (AUTO, CUDA) and torch.cuda.is_available():
        major, minor = torch.cuda.get_device_capability()
        return Device(CUDA, torch.cuda.get_device_name(), f"{major}.{minor}", torch.__version__)
    if choice == CUDA:
        raise DeviceError(f"no CUDA device is available to PyTorch {torch.__version__}")
    kind = CPU
    if choice != CPU:
        problem = _emulation_problem()
        if choice == EMULATED and problem:
            raise DeviceError(f"CUDA's autocast cannot be emulated with PyTorch {torch.__version__}: {problem}")
        kind = CPU if problem else EMULATED
    return Device(kind, _cpu_name(), torch.backends.cpu.get_cpu_capability(), torch.__version__)


def _emulation_problem() -> str:
    from amplint.runtime.emulation.cuda_autocast import cuda_autocast
    from amplint.runtime.emulation.cuda_table import UnreadableTable

    try:
        with cuda_autocast():
            return ""
    except UnreadableTable as error:
        return str(error)


def _cpu_name() -> str:
    try:
        described = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        described = ""
    model = re.search(r"^model name\s*:\s*(.+)$", described, re.MULTILINE)
    return " ".join(model[1].split()) if model else platform.processor() or platform.machine()
