import torch


def fit(encoder, head, loader, epochs, clip):
    opt = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for i, (x, y) in enumerate(loader):
            opt.zero_grad()
            with torch.amp.autocast("cuda", dtype=torch.float16):
                z = encoder(x)
                main = torch.nn.functional.mse_loss(head(z), y)
                aux = z.float().pow(2).mean()
            scaler.scale(main).backward(retain_graph=True)
            (0.1 * aux).backward()  # expect: AMP103 safe
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_([*encoder.parameters(), *head.parameters()], clip)
            scaler.step(opt)
            scaler.update()
        print(epoch, main.item())
