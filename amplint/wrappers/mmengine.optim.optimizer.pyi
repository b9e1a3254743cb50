"""mmengine.optim.optimizer: where mmengine.optim has its wrappers from."""

from mmengine.optim import AmpOptimWrapper as AmpOptimWrapper
from mmengine.optim import OptimWrapper as OptimWrapper
