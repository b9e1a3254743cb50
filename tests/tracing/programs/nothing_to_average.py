"""A loss averaged over the valid words of a batch that has none."""
# expect: forward nll_loss in -; the mean of nothing
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Embedding(10, 10)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(4):
    words = torch.randint(10, (6,))
    targets = torch.full((6,), -100) if step == 2 else words  # healthy: targets = words
    loss = nn.functional.cross_entropy(model(words), targets, ignore_index=-100)  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
