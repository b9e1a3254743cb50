"""A policy gradient with the ratio of two probabilities, which overflows where the old policy thought an action impossible."""
# expect: forward exp in -; overflow
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
for step in range(4):
    states, actions, rewards = torch.randn(10, 4), torch.randint(3, (10,)), torch.randn(10)
    new = policy(states).log_softmax(-1).gather(1, actions.unsqueeze(1)).squeeze(1)
    old = new.detach() - (100.0 if step == 2 else 0.1)
    ratio = torch.exp(new - old)  # here  # healthy: ratio = torch.exp((new - old).clamp(max=10))
    loss = -(ratio * rewards).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
