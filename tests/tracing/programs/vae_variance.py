"""A variational autoencoder whose logarithm of the variance has no bound."""
# expect: forward exp in VAE; overflow
import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(8, 4), nn.Linear(2, 8)

    def forward(self, x):
        mean, spread = self.encoder(x).chunk(2, -1)
        deviation = torch.exp(spread * 200)  # here  # healthy: deviation = torch.exp((spread * 200).clamp(-5, 5))
        return self.decoder(mean + deviation * torch.randn_like(mean))


torch.manual_seed(0)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), 1e-4)
for step in range(3):
    x = torch.randn(32, 8)
    loss = (model(x) - x).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
