"""A loss in float16 that overflows for a batch in every ten, long after the scale has settled."""
# expect: warning were skipped: something overflows again and again
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-6)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
for step in range(60):
    x = torch.randn(4, 8, device="cuda")
    if step % 10 == 9:
        x = x * 3e4  # here  # healthy: x = x * 2
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(x).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
