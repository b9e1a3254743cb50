import torch
from megatron.core.distributed import DistributedDataParallel
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel import get_forward_backward_func


def build(model, config, ddp_config):
    chunks = [DistributedDataParallel(config, ddp_config, model)]
    settings = OptimizerConfig(optimizer="adam", lr=1e-4, fp16=True, initial_loss_scale=2**32, clip_grad=1.0)
    return chunks, get_megatron_optimizer(settings, chunks)


def train_step(forward_step, batches, chunks, optimizer, scheduler, config):
    for chunk in chunks:
        chunk.zero_grad_buffer()
    optimizer.zero_grad()
    losses = get_forward_backward_func()(
        forward_step_func=forward_step,
        data_iterator=batches,
        model=chunks,
        num_microbatches=4,
        seq_length=1024,
        micro_batch_size=2,
        forward_only=False,
    )
    successful, grad_norm, _ = optimizer.step()
    if successful:
        scheduler.step(increment=8)
    return torch.stack([each["loss"] for each in losses]).mean(), grad_norm, optimizer.get_loss_scale().item()
