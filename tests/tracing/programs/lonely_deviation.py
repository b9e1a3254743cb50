"""A standard deviation over a batch of one."""
# expect: forward std in -; the deviation of a single value
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in (torch.randn(8, 4), torch.randn(8, 4), torch.randn(1, 4)):
    features = model(batch)
    spread = features.std(0)  # here  # healthy: spread = features.std(0, correction=0)
    loss = ((features - features.mean(0)) / (spread + 1e-2)).pow(2).mean() + features.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
