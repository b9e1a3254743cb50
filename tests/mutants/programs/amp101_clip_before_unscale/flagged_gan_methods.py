import torch
from torch import nn
from torch.amp import GradScaler, autocast


class Trainer:
    def __init__(self, generator, discriminator, config):
        self.G, self.D = generator, discriminator
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=2e-4, betas=(0.5, 0.999))
        self.scaler = GradScaler("cuda")
        self.max_norm = config.get("max_norm", 1.0)
        self.bce = nn.BCEWithLogitsLoss()

    def d_step(self, real, noise):
        self.opt_d.zero_grad(set_to_none=True)
        with autocast("cuda", dtype=torch.float16):
            with torch.no_grad():
                fake = self.G(noise)
            on_real, on_fake = self.D(real), self.D(fake)
            loss = self.bce(on_real, torch.ones_like(on_real)) + self.bce(on_fake, torch.zeros_like(on_fake))
        self.scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(self.D.parameters(), self.max_norm)  # expect: AMP101 safe
        self.scaler.step(self.opt_d)
        return loss.item()

    def g_step(self, noise):
        self.opt_g.zero_grad(set_to_none=True)
        with autocast("cuda", dtype=torch.float16):
            on_fake = self.D(self.G(noise))
            loss = self.bce(on_fake, torch.ones_like(on_fake))
        self.scaler.scale(loss).backward()
        self.scaler.step(self.opt_g)
        self.scaler.update()
        return loss.item()

    def fit(self, loader, steps):
        for step, real in zip(range(steps), loader):
            noise = torch.randn(real.size(0), 128, device=real.device)
            d_loss = self.d_step(real.cuda(), noise)
            g_loss = self.g_step(noise)
            if step % 100 == 0:
                print(f"{step}: d {d_loss:.3f} g {g_loss:.3f}")
