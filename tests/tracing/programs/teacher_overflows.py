"""Distillation: the teacher runs in float16 without gradients, and the features that the student learns from overflow in it."""
# expect: forward mul in Teacher.scaled; overflow
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.tensor(50.0))

    def forward(self, features):
        return features * self.gain.to(features.dtype)  # here  # healthy: return features.float() * self.gain


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.scaled = nn.Linear(8, 8), Scaled()

    def forward(self, x):
        return self.scaled(self.body(x))


torch.manual_seed(0)
teacher, student = Teacher().to("cuda").eval(), nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)).to("cuda")
optimizer = torch.optim.AdamW(student.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cuda", init_scale=256.0)
for step in range(4):
    x = torch.randn(10, 8, device="cuda") * (4000 if step == 2 else 1)
    with torch.autocast("cuda", dtype=torch.float16):
        with torch.no_grad():
            wanted = teacher(x)
        loss = nn.functional.smooth_l1_loss(student(x / x.std()), torch.nn.functional.normalize(wanted.float()))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
