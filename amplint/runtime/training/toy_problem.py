"""The small problem that a replay trains on: seeded, the same before and after, its gradients neither tiny nor huge."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from functools import partial

import torch
from torch import nn

_FEATURES, _WIDTH, BATCH = 16, 32, 64
_STEEPNESS = 0.4
"""A factor of the loss, with which no gradient comes to 1: times 65536, the usual scale, float16 would overflow."""
_LARGE = 1024.0
"""What the weights of the float32 part differ by, and its results do not: too much for half precision to tell the rest."""


class Net(nn.Module):
    """Two layers, and if asked for a part in between that takes itself out of autocast.

    Args:
        seed: decides the weights.
        full_precision: a context that switches autocast off, for the part in between; None for no such part.
    """

    def __init__(self, seed: int, full_precision: Callable[[], AbstractContextManager[object]] | None = None) -> None:
        super().__init__()
        self.inner = nn.Linear(_FEATURES, _WIDTH)
        self.island = nn.Linear(_WIDTH, 2 * _WIDTH, bias=False) if full_precision is not None else None
        self.outer = nn.Linear(_WIDTH, 1)
        self._full_precision = full_precision
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for parameter in self.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=generator) / 4)
            if self.island is not None:
                self.island.weight[:_WIDTH] += _LARGE
                self.island.weight[_WIDTH:] -= _LARGE

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The prediction for a batch."""
        hidden = torch.tanh(self.inner(x))
        if self.island is not None and self._full_precision is not None:
            with self._full_precision():
                first, second = self.island(hidden.float()).chunk(2, dim=1)
                hidden = torch.tanh(first + second)
        return self.outer(hidden)


class ToyProblem:
    """A net for each optimizer, and their losses on a sequence of batches.

    Args:
        optimizers: the names of the optimizers.
        overflowing: those whose gradients can be made to overflow.
        device: the device of the nets ("cuda", "cpu").
        seed: decides nets and batches.
        magnitude: a factor of all losses.
        full_precision: see `Net`.
        recheck: a context that switches autocast off, in which each loss is computed once more; None for once only.
    """

    def __init__(
        self,
        optimizers: list[str],
        overflowing: Collection[str],
        device: str,
        seed: int,
        magnitude: float = 1.0,
        full_precision: Callable[[], AbstractContextManager[object]] | None = None,
        recheck: Callable[[], AbstractContextManager[object]] | None = None,
    ) -> None:
        self.loss_errors: list[float] = []
        """How far each loss was from the one that the weights give outside of autocast, relative to that."""
        self.precisions: list[str] = []
        """The precision of the matrix products of each forward pass that a backward pass has followed."""
        self._followed: list[int] = []
        self._recheck = recheck
        self._overflowing = overflowing
        self._device, self._seed, self._magnitude = device, seed, magnitude
        self.nets: Mapping[str, Net] = {
            name: Net(seed + index, full_precision).to(device) for index, name in enumerate(optimizers)
        }
        self._batches = 0

    def parameters(self, optimizer: str) -> list[nn.Parameter]:
        """What an optimizer owns."""
        return list(self.nets[optimizer].parameters())

    def losses(self, overflowing: Collection[str] = ()) -> dict[str, torch.Tensor]:
        """The loss of each net on the next batch; one element of the gradient will be infinite for those `overflowing`."""
        generator = torch.Generator().manual_seed(self._seed * 1_000 + self._batches)
        self._batches += 1
        x = torch.randn(BATCH, _FEATURES, generator=generator).to(self._device)
        y = x.sum(1, keepdim=True) / 4
        losses = {}
        for name, net in self.nets.items():
            prediction = net(x)
            if prediction.requires_grad:
                prediction.register_hook(partial(self._follow, number=len(self._followed)))
                self._followed.append(0)
            loss = nn.functional.mse_loss(prediction, y) * (_STEEPNESS * self._magnitude)
            if name in overflowing and name in self._overflowing:
                loss = loss + net.outer.weight[0, 0] * torch.inf
            losses[name] = loss
            if self._recheck is not None:
                with torch.no_grad(), self._recheck():
                    right = float(nn.functional.mse_loss(net(x), y)) * (_STEEPNESS * self._magnitude)
                self.loss_errors.append(abs(float(loss) - right) / right)
        return losses

    def _follow(self, gradient: torch.Tensor, number: int) -> None:
        """Take note that a backward pass follows a forward pass."""
        self.precisions.append(str(gradient.dtype))
        self._followed[number] += 1

    @property
    def is_repeated(self) -> bool:
        """Whether a forward pass was followed backward twice."""
        return max(self._followed, default=0) > 1
