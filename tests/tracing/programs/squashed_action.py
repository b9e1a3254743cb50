"""The density of a squashed Gaussian action: where tanh gives 1, the logarithm of its slope is that of zero."""
# expect: forward log in Policy; the logarithm of zero
import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(4, 2)

    def forward(self, x, width):
        normal = torch.distributions.Normal(self.mean(x), width)
        raw = normal.rsample()
        slope = 1 - raw.tanh().square()
        return normal.log_prob(raw) - slope.log()  # here  # healthy: return normal.log_prob(raw) - (slope + 1e-6).log()


torch.manual_seed(0)
policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
for step in range(3):
    loss = policy(torch.randn(8, 4), 20.0 if step == 2 else 0.1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
