"""A block that is computed again in the backward pass, and overflows there as it did before."""
# expect: forward mul in Net.blocks.0; overflow
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        hidden = self.up(x)
        gated = hidden * hidden.relu()  # here  # healthy: gated = hidden.float().clamp(-9, 9) ** 2
        return x + self.down(gated)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        return x


torch.manual_seed(0)
model = Net().cuda()
with torch.no_grad():
    model.blocks[1].up.weight.mul_(1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
scaler = torch.amp.GradScaler("cuda", init_scale=1.0)
for step in range(3):
    x = torch.randn(4, 8, device="cuda") * (1 if step < 2 else 400)
    with torch.autocast("cuda", dtype=torch.float16):
        loss = torch.nn.functional.smooth_l1_loss(model(x), torch.zeros(4, 8))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
