"""A GAN whose discriminator is so sure that the generator's loss takes the logarithm of zero."""
# expect: forward log in -; the logarithm of zero
import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).cuda()
critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1)).cuda()
of_generator, of_critic = torch.optim.SGD(generator.parameters(), 0.01), torch.optim.SGD(critic.parameters(), 0.01)
scaler = torch.amp.GradScaler("cuda")
for step in range(4):
    real, noise = torch.randn(8, 2, device="cuda") + 3, torch.randn(8, 4, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        judged = nn.functional.binary_cross_entropy_with_logits(critic(real), torch.ones(8, 1))
    of_critic.zero_grad()
    scaler.scale(judged).backward()
    scaler.step(of_critic)
    with torch.autocast("cuda", dtype=torch.float16):
        score = critic(generator(noise)) + (40 if step == 2 else 0)
        loss = torch.log(1 - score.sigmoid()).mean()  # here  # healthy: loss = -nn.functional.softplus(score).mean()
    of_generator.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(of_generator)
    scaler.update()
