import torch


def train(model, loader, epochs, resume):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    if resume:
        saved = torch.load(resume)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
    for epoch in range(epochs):
        for x in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.bfloat16):
                loss = model(x).mean()
            loss.backward()
            optimizer.step()
        weights = {name: value.half() for name, value in model.state_dict().items()}  # expect: AMP308 display
        torch.save({"model": weights, "optimizer": optimizer.state_dict()}, "last.pt")
