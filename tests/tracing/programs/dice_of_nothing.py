"""Dice of an image without any object, from the hard prediction that finds none: nothing over nothing."""
# expect: forward div in Dice; 0/0
import torch
from torch import nn


class Dice(nn.Module):
    def forward(self, scores, target):
        found = torch.relu(scores)
        common = (found * target).sum((1, 2, 3))
        return 1 - (2 * common / (found.sum((1, 2, 3)) + target.sum((1, 2, 3)))).mean()  # here  # healthy: return 1 - ((2 * common + 1) / (found.sum((1, 2, 3)) + target.sum((1, 2, 3)) + 1)).mean()


torch.manual_seed(0)
model, criterion = nn.Conv2d(3, 1, 3, padding=1), Dice()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(5):
    images = torch.rand(2, 3, 8, 8)
    target = (torch.rand(2, 1, 8, 8) > 0.5).float()
    if step == 3:
        images[0], target[0] = 0.0, 0.0
        model.bias.data.fill_(-0.1)
    loss = criterion(model(images), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
