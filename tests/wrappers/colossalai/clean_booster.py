import colossalai
import torch
from colossalai.booster import Booster
from colossalai.booster.plugin import LowLevelZeroPlugin, TorchDDPPlugin
from colossalai.nn.optimizer import HybridAdam


def train(model, dataset, criterion, zero=False, epochs=2):
    colossalai.launch_from_torch()
    plugin = LowLevelZeroPlugin(initial_scale=2**16, max_norm=1.0) if zero else TorchDDPPlugin()
    booster = Booster(plugin=plugin, mixed_precision=None if zero else "fp16")
    optimizer = HybridAdam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=500)
    loader = plugin.prepare_dataloader(dataset, batch_size=32, shuffle=True)
    model, optimizer, criterion, loader, scheduler = booster.boost(
        model, optimizer, criterion=criterion, dataloader=loader, lr_scheduler=scheduler
    )
    for _ in range(epochs):
        for inputs, labels in loader:
            loss = criterion(model(inputs.cuda()), labels.cuda())
            booster.backward(loss, optimizer)
            optimizer.clip_grad_by_norm(1.0)
            optimizer.step()
            optimizer.zero_grad()
        scheduler.step()
    booster.save_optimizer(optimizer, "optimizer", shard=True)
