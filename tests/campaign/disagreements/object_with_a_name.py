import torch


class LossScaler:
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cpu")

    def __call__(self, loss, optimizer):
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(optimizer)
        self.scaler.update()


def train_one_epoch(model, optimizer, loss_scaler, batches):
    for batch in batches:
        loss = model(batch).mean()
        loss_scaler(loss, optimizer)


def train(batches, amp):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_scaler = LossScaler()
    train_one_epoch(model, optimizer, loss_scaler, batches)
