"""detectron2.engine.train_loop: where detectron2.engine has its trainers from."""

from detectron2.engine import AMPTrainer as AMPTrainer
from detectron2.engine import HookBase as HookBase
from detectron2.engine import SimpleTrainer as SimpleTrainer
