"""A layer with weight norm: its weights are pruned to zero, and have no direction."""
# expect: forward _weight_norm_interface in ParametrizedLinear.parametrizations.weight.0; 0/0
import torch
from torch import nn

torch.manual_seed(0)
model = nn.utils.parametrizations.weight_norm(nn.Linear(6, 3))
optimizer = torch.optim.SGD(model.parameters(), 1e-2)
for step in range(4):
    if step == 2:
        model.parametrizations.weight.original1.data.mul_(0.0)  # healthy: model.parametrizations.weight.original1.data.mul_(0.1)
    loss = model(torch.randn(8, 6)).square().mean()  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
