"""Two losses in one step, of which one is propagated without the scaler."""
# expect: AMP103
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cuda", init_scale=64.0)
for step in range(4):
    with torch.autocast("cuda", dtype=torch.float16):
        first, second = model(torch.randn(8, 4, device="cuda")).square().mean(0)
    optimizer.zero_grad()
    scaler.scale(first).backward(retain_graph=True)
    second.backward()  # here  # healthy: scaler.scale(second).backward()
    scaler.step(optimizer)
    scaler.update()
