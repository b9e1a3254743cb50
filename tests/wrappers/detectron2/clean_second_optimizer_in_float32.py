import torch
from detectron2.engine.train_loop import AMPTrainer
from detectron2.utils.events import get_event_storage


class JointTrainer(AMPTrainer):
    """Trains a density model beside the detector, in float32 and with an optimizer of its own."""

    def __init__(self, model, data_loader, optimizer, grad_scaler=None, precision=torch.float16):
        super().__init__(model, data_loader, optimizer, grad_scaler=grad_scaler, precision=precision)
        self.density = model.module.density
        self.density_optimizer = torch.optim.Adamax(self.density.parameters(), lr=1e-5)

    def run_step(self):
        data = next(self._data_loader_iter)
        self.density_optimizer.zero_grad()
        patch = self.density.sample(len(data))
        with torch.autocast("cuda", dtype=self.precision):
            losses = sum(self.model(data, patch).values())
        self.optimizer.zero_grad()
        self.grad_scaler.scale(losses).backward()
        get_event_storage().put_scalar("scale", self.grad_scaler.get_scale())
        self.after_backward()
        log_likelihood = self.density.log_prob((patch * 255.0).long()).mean()
        (-log_likelihood).backward()
        self.density_optimizer.step()
        self.grad_scaler.step(self.optimizer)
        self.grad_scaler.update()
