# Only static: nobody watched what is read out of a scaled loss at run time (AMP119).
import torch


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", enabled=amp)
    losses = []
    for batch in batches:
        optimizer.zero_grad()
        scaled = scaler.scale(model(batch).mean())
        scaled.backward()
        losses.append(scaled.item())
        scaler.step(optimizer)
        scaler.update()
