"""A row of scores that may look at nothing, from which its largest is taken before the softmax."""
# expect: forward sub in Decoder; operand 1 is infinite: inf - inf
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x, scores_mask):
        q, k, v = self.qkv(x).chunk(3, -1)
        weights = q @ k.transpose(1, 2) / 8**0.5 + scores_mask
        weights = weights - weights.amax(-1, keepdim=True)  # here
        return self.out(weights.softmax(-1) @ v)


torch.manual_seed(0)
model = Decoder().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.01)
scaler = torch.amp.GradScaler("cuda", init_scale=256.0)
for step in range(3):
    x = torch.randn(2, 4, 8, device="cuda")
    mask = torch.full((4, 4), float("-inf")).triu(1)
    if step == 1:
        mask[0, 0] = float("-inf")  # healthy: mask[0, 0] = 0
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(x, mask).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
