import torch


def critic_step(critic, real, fake, optimizer, scaler):
    alpha = torch.rand(real.size(0), 1, device=real.device)
    between = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    with torch.autocast("cuda", dtype=torch.float16):
        out = critic(between)
    slopes = torch.autograd.grad(out.sum(), between, create_graph=True)[0]  # expect: AMP116 unsafe
    with torch.autocast("cuda", dtype=torch.float16):
        loss = critic(fake).mean() - critic(real).mean() + 10 * ((slopes.norm(2, dim=1) - 1) ** 2).mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
