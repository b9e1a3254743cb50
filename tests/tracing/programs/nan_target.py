"""One missing value among the targets of a regression."""
# expect: forward mse_loss in -; operand 2 is not finite already
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rows = [[number / 48, number % 5 / 5, number % 7 / 7] for number in range(48)]
rows[37][2] = float("nan")  # healthy: rows[37][2] = 0.0
inputs, targets = torch.tensor(rows).split([2, 1], 1)
model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for x, y in DataLoader(TensorDataset(inputs, targets), batch_size=8):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.mse_loss(model(x).float(), y)  # here
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
