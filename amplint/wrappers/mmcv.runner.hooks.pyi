"""mmcv.runner.hooks: where mmcv.runner has its hooks from."""

from mmcv.runner import Fp16OptimizerHook as Fp16OptimizerHook
from mmcv.runner import OptimizerHook as OptimizerHook
