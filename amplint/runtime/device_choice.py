"""The device that a word means here, asked in a process of its own, so that this one stays free of CUDA."""

from __future__ import annotations

import warnings

from amplint.engine.pool import Died, TimeLimit, Workers
from amplint.runtime.devices import Device, DeviceError, find_device, require_torch

_PROBING = 60.0
"""Seconds that a driver may take to say what GPU there is."""


def choose_device(choice: str) -> Device:
    """The device that a word of `amplint.runtime.devices.CHOICES` means here; this process stays free of CUDA.

    Raises:
        DeviceError: there is no PyTorch or no such device.
    """
    answer = _asked(choice, fork=True)
    if isinstance(answer, _Unusable):  # this process uses CUDA itself, which is then of no use to a fork
        answer = _asked(choice, fork=False)
    if isinstance(answer, Device):
        return answer
    raise DeviceError(f"PyTorch did not say what devices it has ({answer.how})" if isinstance(answer, Died) else answer)


class _Unusable(str):
    """Why a CUDA device that is there cannot be used."""


def _asked(choice: str, fork: bool) -> Device | str | Died:
    with Workers[str, Device | str](_find, 1, require_torch, TimeLimit(_PROBING), fork) as workers:
        return dict(workers.run([choice]))[0]


def _find(choice: str) -> Device | str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an old driver, an old GPU: what matters is said by the answer
            return find_device(choice)
    except DeviceError as error:
        return str(error)
    except RuntimeError as error:
        return _Unusable(f"the CUDA device cannot be used: {str(error).splitlines()[0]}")
