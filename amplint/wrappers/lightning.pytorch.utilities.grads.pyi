"""lightning.pytorch.utilities.grads: where lightning.pytorch.utilities has its norms of gradients from."""

from lightning.pytorch.utilities import grad_norm as grad_norm
