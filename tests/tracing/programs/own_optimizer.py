"""An optimizer of one's own that divides by the square root of a variance that is still zero."""
# expect: - div in -; 0/0
# expect without --ops: - - in -; `Linear.weight` was not finite before this step, and step 1 had finite gradients
import torch
from torch import nn


class Rms(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for one in group["params"]:
                state = self.state.setdefault(one, {"square": torch.zeros_like(one)})
                state["square"].mul_(0.9).addcmul_(one.grad, one.grad, value=0.1)
                one -= group["lr"] * one.grad / state["square"].sqrt()  # here  # healthy: one -= group["lr"] * one.grad / (state["square"].sqrt() + 1e-8)


torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = Rms(model.parameters(), 1e-3)
for step in range(4):
    x = torch.randn(8, 4)
    x[:, 3] = 0  # a feature that nothing has
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # here without --ops
