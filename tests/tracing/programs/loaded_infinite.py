"""Weights that were saved in half, where one was too large: it is infinite in what is loaded."""
# expect: forward addmm in Sequential.2; operand 3 (`Sequential.2.weight`) is infinite
# expect without --ops: - - in -; `Sequential.2.weight` was not finite before this step
import io

import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


torch.manual_seed(0)
saved = build()
with torch.no_grad():
    saved[2].weight[0, 0] = 70000.0  # healthy: saved[2].weight[0, 0] = 7.0
file = io.BytesIO()
torch.save({name: value.half() for name, value in saved.state_dict().items()}, file)
file.seek(0)
model = build()
model.load_state_dict(torch.load(file))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(5, 4)), torch.randint(2, (5,)))  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
