"""A focal loss that raises a number to a fraction; rounding has made the number negative."""
# expect: forward pow in -; a negative number
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(4):
    labels = torch.randint(3, (16,))
    right = model(torch.randn(16, 8)).softmax(-1).gather(1, labels.unsqueeze(1))
    rest = 1 - right - (1.0 if step == 2 else 0.0)
    loss = (rest**1.5 * -right.log()).mean()  # here  # healthy: loss = (rest.clamp(min=1e-6) ** 1.5 * -right.log()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
