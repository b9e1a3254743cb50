import torch
from detectron2.engine import AMPTrainer


class ClippingTrainer(AMPTrainer):
    def run_step(self):
        data = next(self._data_loader_iter)
        with torch.autocast("cuda", dtype=torch.float16):
            losses = sum(self.model(data).values())
        self.optimizer.zero_grad()
        self.grad_scaler.scale(losses).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)  # expect: AMP101 safe
        self.grad_scaler.step(self.optimizer)
        self.grad_scaler.update()
