import torch
import torch.nn as nn
import torch.nn.functional as F


class Critic(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return torch.sigmoid(self.head(F.relu(self.body(x))))


def step(width, real, labels, optimizer, scaler):
    critic = Critic(width)
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        score = torch.sigmoid(critic.head(F.relu(critic.body(real))))
        loss = F.binary_cross_entropy(score, labels)  # expect: AMP304 safe
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
