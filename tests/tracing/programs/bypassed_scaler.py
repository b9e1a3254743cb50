"""One of two optimizers is stepped around the scaler."""
# expect: AMP104
import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 8).cuda(), nn.Linear(8, 1).cuda()
slow, fast = torch.optim.SGD(body.parameters(), 1e-3), torch.optim.SGD(head.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cuda", init_scale=256.0)
for step in range(3):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = head(body(torch.randn(8, 4, device="cuda"))).square().mean()
    slow.zero_grad()
    fast.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(slow)
    fast.step()  # here  # healthy: scaler.step(fast)
    scaler.update()
