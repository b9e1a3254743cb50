"""pytorch_lightning.utilities.grads: the norms of gradients, as lightning.pytorch.utilities has them."""

from lightning.pytorch.utilities import grad_norm as grad_norm
