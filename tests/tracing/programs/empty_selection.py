"""A mean over the positions that are not padding, of which a batch has none."""
# expect: forward mean in -; the mean of nothing
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x, labels = torch.randn(5, 6), torch.randint(4, (5,))
    if step == 2:
        labels[:] = -1
    chosen = labels >= 0  # healthy: chosen = labels >= -1
    losses = nn.functional.cross_entropy(model(x), labels.clamp(min=0), reduction="none")
    loss = losses[chosen].mean()  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
