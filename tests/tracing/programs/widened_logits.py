"""Logits with a temperature of their own, outside of all modules: in float16 they are too large, and the loss is infinite."""
# expect: forward mul in -; overflow
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).to("cuda")
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
for step in range(4):
    x = torch.randn(16, 8, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        out = model(x)
        if step == 2:
            out = out * 1e6  # here  # healthy: out = out.float() * 1e6
    loss = out.float().square().mean() / (1e12 if step == 2 else 1.0)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
