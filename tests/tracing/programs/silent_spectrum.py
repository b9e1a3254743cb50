"""The magnitude of a spectrum by hand: silence has the root of zero, whose slope is infinite."""
# expect: backward div in Magnitude; 0/0
import torch
from torch import nn


class Magnitude(nn.Module):
    def forward(self, sound):
        spectrum = torch.view_as_real(torch.stft(sound, 16, 8, window=torch.hann_window(16), return_complex=True))
        return torch.sqrt(spectrum.square().sum(-1))  # here  # healthy: return torch.sqrt(spectrum.square().sum(-1) + 1e-9)


torch.manual_seed(0)
model, magnitude = nn.Conv1d(1, 1, 9, padding=4, bias=False), Magnitude()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for step in range(5):
    sound = torch.randn(2, 1, 64)
    if step == 2:
        sound[1] = 0.0
    loss = (magnitude(model(sound)[:, 0]) - magnitude(sound[:, 0])).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
