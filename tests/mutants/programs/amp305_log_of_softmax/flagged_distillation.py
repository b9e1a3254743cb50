import torch
import torch.nn as nn


class DistillLoss(nn.Module):
    def __init__(self, temperature=4.0, alpha=0.9):
        super().__init__()
        self.temperature, self.alpha = temperature, alpha
        self.student = nn.Linear(512, 100)
        self.teacher = nn.Linear(512, 100)

    @torch.autocast("cuda", dtype=torch.float16)
    def forward(self, features, labels):
        s = self.student(features)
        with torch.no_grad():
            t = self.teacher(features)
        hard = nn.functional.cross_entropy(s, labels)
        p = torch.softmax(t / self.temperature, dim=1)
        q = torch.log(torch.softmax(s / self.temperature, dim=1))  # expect: AMP305 safe
        soft = -(p * q).sum(dim=1).mean() * self.temperature**2
        return self.alpha * soft + (1 - self.alpha) * hard
