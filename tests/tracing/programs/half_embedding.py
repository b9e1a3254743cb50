"""An embedding made half on its own, under an optimizer whose epsilon is zero in float16."""
# expect: - addcdiv in -; 0/0
# expect without --ops: - - in -; `Model.words.weight` was not finite before this step, and step 1 had finite gradients
import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(12, 8).half()  # healthy: self.words = nn.Embedding(12, 8)
        self.head = nn.Linear(8, 12)

    def forward(self, words):
        return self.head(self.words(words).float())


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3, foreach=False)
for step in range(6):
    words = torch.randint(11, (8,))
    loss = nn.functional.cross_entropy(model(words), words)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # here
