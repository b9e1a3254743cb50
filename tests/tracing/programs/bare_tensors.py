"""A model of bare tensors, as in a first lesson: a rate that is too high, and an exponential."""
# expect: forward exp in -; overflow
import torch

torch.manual_seed(0)
weights = torch.randn(5, 3, requires_grad=True)
bias = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.SGD([weights, bias], lr=0.05)


def poisson(rate, count):
    return (torch.exp(rate) - count * rate).mean()  # here  # healthy: return (torch.exp(rate.clamp(max=3)) - count * rate.clamp(max=3)).mean()


for step in range(30):
    x = torch.randn(16, 5) * 3
    count = torch.poisson(torch.full((16, 3), 2.0))
    loss = poisson(x @ weights + bias, count)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
