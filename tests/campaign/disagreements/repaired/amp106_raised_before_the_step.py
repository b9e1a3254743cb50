import torch


def train(batches):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step, batch in enumerate(batches):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).float().abs().mean()
        optimizer.zero_grad(set_to_none=True)
        try:
            loss.backward()
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.grad.clamp_(-0.1, 0.1)
            if step in (7, 8):
                raise MemoryError
            optimizer.step()
        except MemoryError:
            optimizer.zero_grad()
            continue
