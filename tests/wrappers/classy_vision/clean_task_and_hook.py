import torch
from classy_vision.hooks import ClassyHook
from classy_vision.optim import build_optimizer
from classy_vision.tasks import ClassificationTask, register_task


@register_task("clipped")
class ClippedTask(ClassificationTask):
    def run_optimizer(self, loss):
        self.optimizer.zero_grad()
        if self.amp_grad_scaler is not None:
            self.amp_grad_scaler.scale(loss).backward()
            self.amp_grad_scaler.unscale_(self.optimizer.optimizer)
        else:
            loss.backward()
        torch.nn.utils.clip_grad_norm_(self.base_model.parameters(), 1.0)
        if self.amp_grad_scaler is not None:
            self.amp_grad_scaler.step(self.optimizer, where=self.where)
            self.amp_grad_scaler.update()
        else:
            self.optimizer.step(where=self.where)


class NormHook(ClassyHook):
    def on_step(self, task):
        norms = [param.grad.norm() for param in task.base_model.parameters() if param.grad is not None]
        print(torch.stack(norms).max().item())


def main(model, loss, datasets):
    task = ClippedTask().set_model(model).set_loss(loss).set_num_epochs(2)
    task.set_optimizer(build_optimizer({"name": "sgd", "param_schedulers": {"lr": {"name": "cosine"}}}))
    task.set_amp_args({"amp_level": "PYTORCH"}).set_hooks([NormHook()])
    for phase, dataset in datasets.items():
        task.set_dataset(dataset, phase)
    return task
