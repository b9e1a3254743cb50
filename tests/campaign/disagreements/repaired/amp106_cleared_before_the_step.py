import torch


def train(batches):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step, batch in enumerate(batches):
        update_grad = (step + 1) % 2 == 0
        with torch.autocast("cpu", dtype=torch.float16):
            loss = torch.nn.functional.l1_loss(model(batch).float(), torch.ones(len(batch), 1))
        loss = loss / 2
        loss.backward()
        if update_grad:
            optimizer.zero_grad()
        optimizer.step()
