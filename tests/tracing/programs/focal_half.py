"""A focal loss on probabilities in float16: a sure one is 1, and the logarithm of what is left is that of zero."""
# expect: forward log in Focal; the logarithm of zero
import torch
from torch import nn


class Focal(nn.Module):
    def forward(self, scores, target):
        chance = torch.sigmoid(scores)
        chance = torch.where(target > 0, chance, 1 - chance)
        return -((1 - chance).square() * chance.log()).mean()  # here  # healthy: return ((1 - chance.float()).square() * nn.functional.binary_cross_entropy_with_logits(scores.float(), target, reduction="none")).mean()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).cuda()
criterion = Focal()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
for step in range(5):
    x = torch.randn(16, 8, device="cuda") * (400.0 if step == 3 else 1.0)
    target = (torch.rand(16, 1, device="cuda") > 0.5).float()
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), target)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
