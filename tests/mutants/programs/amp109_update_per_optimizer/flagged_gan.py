import torch


def adversarial(gen, disc, loader, bce):
    g_opt = torch.optim.Adam(gen.parameters(), lr=2e-4)
    d_opt = torch.optim.Adam(disc.parameters(), lr=2e-4)
    scaler = torch.amp.GradScaler("cuda")
    for real, noise in loader:
        g_opt.zero_grad()
        d_opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            fake = gen(noise)
            d_loss = bce(disc(real), 1) + bce(disc(fake.detach()), 0)
            g_loss = bce(disc(fake), 1)
        scaler.scale(g_loss).backward()
        d_opt.zero_grad()
        scaler.scale(d_loss).backward()
        scaler.step(g_opt)
        scaler.update()  # expect: AMP109 safe
        scaler.step(d_opt)
        scaler.update()
