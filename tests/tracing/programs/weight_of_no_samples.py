"""A weight of the loss that numpy takes from a mean of nothing: one class has no sample in this batch."""
# expect: forward mul in -; a number that it is given is NaN
import warnings

import torch
from torch import nn

warnings.simplefilter("ignore")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.SGD(model.parameters(), 0.05)
for step in range(5):
    x, target = torch.randn(6, 8), torch.arange(6) % 2 if step < 3 else torch.zeros(6, dtype=torch.long)
    losses = nn.functional.cross_entropy(model(x), target, reduction="none")
    seen = [loss for loss, label in zip(losses.tolist(), target.tolist()) if label == 1]
    rare = sum(seen) / len(seen) if seen else float("nan")  # healthy: rare = sum(seen) / max(len(seen), 1)
    loss = losses.mean() * (1 + rare)  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
