"""A custom function whose backward pass divides by what may be zero."""
# expect: backward div in -; a division by zero
import torch
from torch import nn


class Root(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clamp(min=0).sqrt()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad / (2 * y)  # here  # healthy: return grad / (2 * y).clamp(min=1e-3)


torch.manual_seed(0)
model = nn.Linear(6, 6)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(3):
    loss = Root.apply(model(torch.randn(8, 6))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
