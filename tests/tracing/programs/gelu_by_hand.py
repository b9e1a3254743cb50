"""An activation by hand whose cube overflows: the loss is finite, for tanh of infinity is one; the gradient is not."""
# expect: forward mul in Sequential.1; overflow
import torch
from torch import nn


class Gelu(nn.Module):
    def forward(self, x):
        inner = 0.7978845608 * (x + x * x * x * 0.044715)  # here  # healthy: inner = 0.7978845608 * (x + 0.044715 * x.float() ** 3)
        return 0.5 * x * (1.0 + torch.tanh(inner))


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), Gelu(), nn.Linear(16, 1)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
scaler = torch.amp.GradScaler('cuda', init_scale=1.0)
for step in range(5):
    x = torch.randn(6, 8, device="cuda")
    if step == 2:
        x = x * 300
    with torch.autocast('cuda'):
        loss = model(x).float().abs().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
