"""A temperature of Gumbel noise that is annealed down to nothing: logits are divided by zero."""
# expect: forward div in Chooser; a division by zero
import torch
from torch import nn


class Chooser(nn.Module):
    def __init__(self):
        super().__init__()
        self.score, self.book, self.heat = nn.Linear(8, 6), nn.Embedding(6, 8), 1.0

    def forward(self, x):
        chosen = nn.functional.gumbel_softmax(self.score(x), self.heat)  # here  # healthy: chosen = nn.functional.gumbel_softmax(self.score(x), max(self.heat, 0.1))
        return chosen @ self.book.weight


torch.manual_seed(0)
model = Chooser()
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(6):
    model.heat = max(1.0 - 0.25 * step, 0.0)
    x = torch.randn(4, 8)
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
