import torch


class LossScaler:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cpu")

    def __call__(self, update_grad, loss, optimizer):
        self.scaler.scale(loss).backward()
        if update_grad:
            self.scaler.step(optimizer)
            self.scaler.update()


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_scaler = LossScaler()
    for step, batch in enumerate(batches):
        update_grad = (step + 1) % 3 == 0
        loss = model(batch).mean()
        loss_scaler(update_grad, loss, optimizer)
        if update_grad:
            optimizer.step()
            model.zero_grad()
