# Only at run time: of several half losses without a scaler, the static witness named the first alone (AMP106).
import torch


def train(batches):
    model_g = torch.nn.Linear(2, 1)
    optimizer_g = torch.optim.SGD(model_g.parameters(), lr=0.01)
    model_d = torch.nn.Linear(2, 1)
    optimizer_d = torch.optim.SGD(model_d.parameters(), lr=0.01)
    for batch in batches:
        optimizer_g.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss_g = model_g(batch).mean()
        loss_g.backward()
        torch.nn.utils.clip_grad_norm_(model_g.parameters(), 1.0)
        optimizer_g.step()
        with torch.autocast("cpu", dtype=torch.float16):
            loss_d = model_d(batch).mean()
        loss_d.backward()
        optimizer_d.step()
