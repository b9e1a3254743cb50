# Only static: which of two half losses the step takes is a guess where both passes come before it (limit `nearest_pass`).
import torch


def train(batches):
    model_g = torch.nn.Linear(2, 1)
    optimizer_g = torch.optim.AdamW(model_g.parameters(), lr=0.01)
    model_d = torch.nn.Linear(2, 1)
    optimizer_d = torch.optim.AdamW(model_d.parameters(), lr=0.01)
    for batch in batches:
        optimizer_g.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss_g = model_g(batch).mean()
        loss_g.backward()
        optimizer_d.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss_d = model_d(batch).mean()
        loss_d.backward()
        optimizer_g.step()
