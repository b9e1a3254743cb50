import torch
from detectron2.engine.train_loop import AMPTrainer


class ClippingTrainer(AMPTrainer):
    def after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)  # expect: AMP101 none
