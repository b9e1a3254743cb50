import torch


def train(net, aux, loader, criterion):
    params = [*net.parameters(), *aux.parameters()]
    optimizer = torch.optim.Adam(params, lr=1e-4)
    scaler = torch.amp.GradScaler("cuda")
    for x, y, z in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            feats = net(x)
            main = criterion(feats, y)
            extra = criterion(aux(feats.detach()), z)
        scaler.scale(main).backward()
        extra.backward()  # expect: AMP103 safe
        scaler.step(optimizer)
        scaler.update()
