import torch


def train_one_epoch(model, optimizer, scaler, amp, batches):
    def do_0(step, loss):
        if step in (7, 8):
            raise MemoryError
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            loss.backward()

    for step, batch in enumerate(batches):
        with torch.autocast("cpu", dtype=torch.float16, enabled=amp):
            loss = torch.nn.functional.l1_loss(model(batch).float(), torch.ones(len(batch), 1))
        inner = torch.autograd.grad(loss, model.weight, create_graph=True)[0]
        loss = loss + inner.norm()
        try:
            do_0(step, loss)
        except MemoryError:
            optimizer.zero_grad()
            continue
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
        if scaler:
            scaler.unscale_(optimizer)
        if scaler is not None:
            scaler.step(optimizer)
        else:
            optimizer.step()
        if amp:
            scaler.update()
        optimizer.zero_grad()


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu") if amp else None
    train_one_epoch(model, optimizer, scaler, amp, batches)
