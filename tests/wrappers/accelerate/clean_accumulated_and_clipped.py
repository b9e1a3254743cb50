import torch
from accelerate import Accelerator
from torch import nn


def train(dataset, epochs=3, max_grad_norm=1.0):
    accelerator = Accelerator(mixed_precision="fp16", gradient_accumulation_steps=4)
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=len(loader) * epochs)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for _ in range(epochs):
        model.train()
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(inputs), targets)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    norm = accelerator.clip_grad_norm_(model.parameters(), max_grad_norm)
                    accelerator.log({"loss": loss.item(), "norm": norm.item()})
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        accelerator.save_state("checkpoints")
    return accelerator.unwrap_model(model)
