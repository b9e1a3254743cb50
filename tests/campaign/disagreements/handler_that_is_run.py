# Only static, because no run ever failed: a handler's path is feasible, so programs fail in the ninth iteration (AMP105).
import torch


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu") if amp else None
    for step, batch in enumerate(batches):
        if (step + 1) % 3 == 0:
            if scaler is not None:
                scaler.step(optimizer)
            else:
                optimizer.step()
        with torch.autocast("cpu", dtype=torch.float16, enabled=amp):
            loss = model(batch).mean() / 3
        try:
            if step == 8:
                raise MemoryError
            if not scaler:
                loss.backward()
            else:
                scaler.scale(loss).backward()
        except MemoryError:
            optimizer.zero_grad()
            continue
        if (step + 1) % 3 == 0:
            if amp:
                scaler.update()
            optimizer.zero_grad()
