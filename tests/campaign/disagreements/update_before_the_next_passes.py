# Only static, or rather: too late at run time. That a pass added to gradients which were scaled before an update was
# forgotten at the next pass, though the step then divides both by one scale (AMP109).
import torch


def train(batches, late):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for step, batch in enumerate(batches):
        update_grad = (step + 1) % 3 == 0
        if update_grad:
            scaler.step(optimizer)
        loss = model(batch).mean()
        scaler.scale(loss).backward()
        if update_grad:
            scaler.update()
            if late:
                optimizer.zero_grad(set_to_none=True)
