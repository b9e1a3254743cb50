import torch


def fit(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with torch.autocast("cuda", dtype=torch.bfloat16):  # expect: AMP212 safe
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
