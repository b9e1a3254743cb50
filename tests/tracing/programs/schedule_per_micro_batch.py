"""A schedule of one entry for each step, advanced for each micro-batch."""
# expect: warning of them although the optimizer took no step
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=16)
for batch in range(16):
    loss = model(torch.randn(4, 8)).square().mean() / 4
    loss.backward()
    if batch % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
    if True:  # healthy: if batch % 4 == 3:
        schedule.step()  # here
