"""An angle whose cosine rounding has put beyond one."""
# expect: forward acos in -; `acos` is not defined beyond 1
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 6, bias=False)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(4):
    first = nn.functional.normalize(model(torch.randn(20, 6)), dim=1)
    second = first if step == 2 else nn.functional.normalize(model(torch.randn(20, 6)), dim=1)
    cosine = (first * second).sum(1) * 1.000001
    angle = torch.acos(cosine)  # here  # healthy: angle = torch.acos(cosine.clamp(-0.999, 0.999))
    loss = angle.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
