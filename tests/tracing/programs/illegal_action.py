"""log_prob of an action that the policy gives no probability: a masked action was taken."""
# expect: forward log in -; the logarithm of zero
import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Linear(4, 5)
optimizer = torch.optim.Adam(policy.parameters(), 1e-2)
for step in range(4):
    logits = policy(torch.randn(6, 4))
    legal = torch.ones(6, 5, dtype=torch.bool)
    legal[:, 4] = False
    actions = torch.randint(4, (6,))
    if step == 2:
        actions[0] = 4  # healthy: actions[0] = 3
    probabilities = logits.softmax(-1) * legal
    loss = -probabilities.gather(1, actions.unsqueeze(1)).log().mean()  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
