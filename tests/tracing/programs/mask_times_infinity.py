"""A causal mask multiplied by minus infinity: where it is zero, the product is NaN."""
# expect: forward mul in Attention; a number that it is given is infinite: 0 * inf
import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.project = nn.Linear(width, 3 * width)

    def forward(self, x):
        query, key, value = self.project(x).chunk(3, -1)
        later = torch.ones(x.shape[1], x.shape[1]).triu(1)
        scores = torch.matmul(query, key.transpose(-1, -2))
        scores = scores + later * float("-inf")  # here  # healthy: scores = scores.masked_fill(later.bool(), float("-inf"))
        return torch.matmul(scores.softmax(-1), value)


torch.manual_seed(0)
model = Attention()
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for _ in range(4):
    loss = model(torch.randn(2, 5, 16)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
