"""A bag of embeddings whose sum is larger than float16."""
# expect: forward _to_copy in Bag; overflow
import torch
from torch import nn


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.head = nn.Embedding(20, 4), nn.Linear(4, 2)

    def forward(self, words, counts):
        total = (self.embedding(words) * counts.unsqueeze(-1)).sum(1)
        return self.head(total.half().float())  # here  # healthy: return self.head(total)


torch.manual_seed(0)
model = Bag().cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-9)
for step in range(3):
    words, counts = torch.randint(20, (4, 6)), torch.rand(4, 6) * (1e6 if step == 1 else 10)
    loss = model(words, counts).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
