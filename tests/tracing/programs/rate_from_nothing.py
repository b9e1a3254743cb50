"""A warm-up that divides by the steps so far, as a tensor: at the first step the rate is infinite."""
# expect: - add in -; a number that it is given is infinite
# expect without --ops: - - in -; `Linear.weight` was not finite before this step: step 1 was taken with a learning rate of inf
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(4):
    x = torch.randn(8, 4)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    for group in optimizer.param_groups:
        group["lr"] = (0.01 / torch.tensor(float(step)).sqrt()).item()  # healthy: group["lr"] = 0.01 / (1 + step) ** 0.5
    optimizer.step()  # here
