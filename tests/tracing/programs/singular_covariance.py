"""The likelihood of a normal distribution: the covariance of a batch that repeats itself has no inverse."""
# expect: forward _linalg_slogdet in -; the logarithm of a determinant that is zero
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(4):
    x = torch.randn(8, 6)
    x = x[:1].expand(8, 6) if step == 2 else x
    out = model(x)
    spread = out - out.mean(0) if step != 2 else out - out
    covariance = spread.T @ spread / 8
    loss = torch.logdet(covariance).abs()  # here  # healthy: loss = torch.logdet(covariance + 1e-3 * torch.eye(3)).abs()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
