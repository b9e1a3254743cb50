import torch
from fairseq.optim.amp_optimizer import AMPOptimizer
from fairseq.optim.fp16_optimizer import FP16Optimizer
from fairseq.tasks import FairseqTask, register_task


@register_task("weighted")
class WeightedTask(FairseqTask):
    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        model.train()
        model.set_num_updates(update_num)
        with torch.autocast("cuda", dtype=torch.float16, enabled=isinstance(optimizer, AMPOptimizer)):
            loss, sample_size, logging_output = criterion(model, sample)
        if ignore_grad:
            loss *= 0
        optimizer.backward(loss)
        return loss, sample_size, logging_output

    def optimizer_step(self, optimizer, model, update_num):
        optimizer.step()


def train(cfg, model, criterion, batches):
    params = [param for param in model.parameters() if param.requires_grad]
    optimizer = (
        FP16Optimizer.build_optimizer(cfg, params) if cfg.common.fp16 else AMPOptimizer.build_optimizer(cfg, params)
    )
    for samples in batches:
        optimizer.zero_grad()
        sizes = 0
        for sample in samples:
            loss, size, _ = criterion(model, sample)
            optimizer.backward(loss)
            sizes += size
        optimizer.multiply_grads(1.0 / sizes)
        norm = optimizer.clip_grad_norm(cfg.optimization.clip_norm)
        optimizer.step()
        print(norm.item())
