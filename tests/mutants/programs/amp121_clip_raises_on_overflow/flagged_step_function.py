import torch
from torch import nn


class Learner:
    def __init__(self, policy, lr, limit):
        self.policy, self.limit = policy, limit
        self.optimizer = torch.optim.RMSprop(policy.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cuda", init_scale=2.0**14)

    def learn(self, observations, returns):
        self.optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = nn.functional.smooth_l1_loss(self.policy(observations), returns)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5, error_if_nonfinite=True)  # expect: AMP121 unsafe
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return norm
